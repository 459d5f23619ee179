"""Memory of serving encoders: embeddings, rerankers and speech recognition."""
