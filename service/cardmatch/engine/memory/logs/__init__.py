"""Start-up logs and out-of-memory errors of engines, read into figures."""
