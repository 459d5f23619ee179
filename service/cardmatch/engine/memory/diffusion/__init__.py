"""Memory of making images and video, and of training what makes them."""
