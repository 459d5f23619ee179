"""Ollama: llama.cpp with Ollama's own defaults."""
