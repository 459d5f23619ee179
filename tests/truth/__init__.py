"""Predictions against measured cases: `python -m tests.truth`."""
