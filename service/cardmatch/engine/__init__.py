"""The pure engine: memory, speed and cost arithmetic. No I/O, no clock, no changing globals."""
