"""Rates of work that the speed room predicts for options of /cost, one module a kind of workload."""
