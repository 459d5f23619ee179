"""The command that starts an engine as its verdict assumes."""
