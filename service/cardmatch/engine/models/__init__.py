"""What a model is: its architecture, parameter counts, number formats and cache."""
