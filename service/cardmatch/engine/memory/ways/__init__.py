"""Ways to fit: the smallest sets of changes that make a serving job run, and what it then is."""
