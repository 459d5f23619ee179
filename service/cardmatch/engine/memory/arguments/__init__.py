"""Command lines of engines, read into their options."""
