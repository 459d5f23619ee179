"""Hugging Face Transformers: weights and a cache that grows with each token, nothing reserved."""
