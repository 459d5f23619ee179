"""One module a family of cases: how a row becomes a request, which figures are compared, which marks hold."""
