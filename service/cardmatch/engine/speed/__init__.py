"""How fast a job runs: rates of work, predicted or measured."""
