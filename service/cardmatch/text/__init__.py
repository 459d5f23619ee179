"""Every sentence that the service says, in English, Spanish and Simplified Chinese."""
