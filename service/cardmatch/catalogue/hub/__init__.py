"""Fetching models that the catalogue does not hold from a Hugging Face-compatible hub."""
