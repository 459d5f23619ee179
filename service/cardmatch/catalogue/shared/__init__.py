"""The snapshot shared through Redis: published whole, followed in the background, never waited for."""
