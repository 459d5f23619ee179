"""`make contract`: linters of the document, and clients made from it that ask a running service."""
