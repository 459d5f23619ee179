"""One package an engine: its options, its defaults by version and card, and what it reserves."""
