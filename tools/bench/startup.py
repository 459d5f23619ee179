"""How long it takes until something can be asked."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = 5
ENGINE = """
import importlib, pkgutil, cardmatch.engine
for module in pkgutil.walk_packages(cardmatch.engine.__path__, "cardmatch.engine."):
    importlib.import_module(module.name)
"""


def rows() -> list[tuple[str, float, str, float | None]]:
    """Importing what an estimate takes of the engine, and every room of it, over an empty interpreter; and a whole
    `cardmatch estimate`.
    """
    empty = cpu_milliseconds(["-c", ""])
    asked = cpu_milliseconds(["-c", "import cardmatch.engine.memory.estimate"]) - empty
    every = cpu_milliseconds(["-c", ENGINE]) - empty
    estimate = cpu_milliseconds(["-m", "cardmatch.cli", "estimate", "7B", "--accept", "tight,queues"])
    return [
        ("import of the engine for an estimate", asked, "ms", 150.0),
        ("import of every room of the engine", every, "ms", 150.0),
        ("cardmatch estimate", estimate, "ms", 400.0),
    ]


def cpu_milliseconds(arguments: list[str]) -> float:
    """CPU time of one Python process, the least of several runs; compiled files are there from the first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "service")}
    times = []
    for _ in range(RUNS):
        before = _children()
        subprocess.run([sys.executable, *arguments], env=environment, check=False, capture_output=True)
        times.append(_children() - before)
    return min(times) * 1e3


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
