"""GGUF files: their metadata as an architecture, their tensor table as exact bytes."""
