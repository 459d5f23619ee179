"""The frozen snapshot that answers read: cards, offers, providers, countries; its data, importers and names."""
