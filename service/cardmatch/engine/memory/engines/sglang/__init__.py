"""SGLang: weights and cache in a static share of the card, activations and graphs in the rest."""
