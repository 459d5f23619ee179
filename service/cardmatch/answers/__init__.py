"""One module a question: resolve names, ask the engine, fill in the words. Knows no HTTP."""
