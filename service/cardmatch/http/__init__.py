"""The HTTP door: strict requests in, answers or problems out. It holds no domain knowledge."""
