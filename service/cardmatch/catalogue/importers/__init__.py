"""Bringing prices in: one reader a source, one set of rules for all, and a report of every row that was left out."""
