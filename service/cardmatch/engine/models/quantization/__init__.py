"""What `quantization_config` and its side files say about how weights are stored."""
