"""How an estimate was reckoned: each component's formula, its numbers, and where the rule stands."""
