"""Run every scenario in turn: `python -m tests.soak [--minutes 10]`. Status 1 where one does not hold."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.soak import clients, machine

SCENARIOS = (
    clients.memory,
    clients.slow_clients,
    clients.idle_connections,
    clients.malformed,
    clients.pipelined,
    clients.bodies,
    machine.killed_worker,
    machine.full_disk,
    machine.descriptors_used_up,
    machine.clock_jumps,
)


def main() -> int:
    """Print a line for each scenario."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for mixed traffic (default: 10)")
    parser.add_argument("names", nargs="*", help="scenarios (default: all)")
    chosen = parser.parse_args()
    failed = 0
    for scenario in SCENARIOS:
        if chosen.names and scenario.__name__ not in chosen.names:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                told = scenario(Path(folder), chosen.minutes * 60 if scenario is clients.memory else 1.0)
            except (AssertionError, OSError) as problem:
                failed += 1
                told = f"FAILED: {problem}"
        print(f"{scenario.__name__:<20} {time.monotonic() - began:>5.0f} s  {told}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
