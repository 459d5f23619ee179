"""`make soak`: the service under load and ill treatment for as long as one likes, on the loopback."""
