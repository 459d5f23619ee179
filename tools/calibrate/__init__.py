"""Fits the catalogue's constants from truth cases; every figure it writes names the cases that it came from."""
