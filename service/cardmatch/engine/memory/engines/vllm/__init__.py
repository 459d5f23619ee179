"""vLLM (V1): utilisation × total memory, profiled activations, paged cache."""
