"""Run the checks that are asked for, in order, each against a time budget, and stop at the first that fails.

`tests` comes last so that pytest's closing line is the last one printed; a stage over its budget is named on stderr.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

# Seconds on two cores. With the 60 that an installation from nothing takes they add up to ten minutes.
STAGES: dict[str, tuple[int, list[list[str]]]] = {
    "lint": (10, [["ruff", "check", "."], ["ruff", "format", "--check", "."]]),
    "types": (40, [["mypy"]]),
    "contracts": (10, [["lint-imports"]]),
    "tests": (480, [["python", "-m", "pytest", "-q"]]),
}


def stage(name: str) -> int:
    """Run stage *name* and return the exit status of its first command that failed, or 0."""
    budget, commands = STAGES[name]
    started = time.monotonic()
    path = os.pathsep.join([str(BIN), str(ROOT / ".tools" / "bin"), os.environ.get("PATH", "")])
    print(f"== {name}: at most {budget} s", flush=True)
    for command in commands:
        env = {**os.environ, "PATH": path}
        status = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=ROOT, env=env, check=False).returncode
        if status != 0:
            return status
    taken = time.monotonic() - started
    if name != "tests":  # pytest says itself how long it took
        print(f"== {name}: {taken:.1f} s of {budget} s", flush=True)
    if taken > budget:
        print(f"== {name} is over its budget: {taken:.0f} s of {budget} s", file=sys.stderr, flush=True)
    return 0


def main(names: list[str]) -> int:
    """Run the stages *names*; the exit status is that of the first that failed."""
    return next((status for name in names if (status := stage(name)) != 0), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
