"""TensorRT-LLM: weights and activation buffers first, then a share of what is free for the cache."""
