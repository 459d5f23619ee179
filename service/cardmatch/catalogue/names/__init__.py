"""From what people write to what the catalogue calls it."""
