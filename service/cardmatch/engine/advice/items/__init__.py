"""Which card for work that is counted in pictures, texts or recordings: copies of one GPU each, as many as it takes."""
