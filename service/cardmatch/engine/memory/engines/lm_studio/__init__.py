"""LM Studio: llama.cpp with LM Studio's own defaults."""
