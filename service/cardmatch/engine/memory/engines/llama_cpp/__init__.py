"""llama.cpp and its ik fork: weights, cache and compute buffers as its log prints them."""
