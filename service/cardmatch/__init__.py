"""Cardmatch: does it fit, which card, what does it cost."""

__version__ = "0.1.0"
