"""Hugging Face config.json: what its keys say about a model, dialect by dialect."""
