"""Which card: every way to run a job that the hardware, the market and the caller's conditions allow, best first."""
