"""What a job needs, what an engine reserves, and whether it fits."""
