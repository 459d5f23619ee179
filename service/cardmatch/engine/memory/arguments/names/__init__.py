"""The names of every option that an engine's command line knows, so that a mistyped one is noticed."""
