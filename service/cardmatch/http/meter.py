"""What a worker counts while it serves. Plain numbers, since a counter with locks costs more than an answer's headers.

One worker has one event loop, and only that writes here; `exposition` puts it into Prometheus's words when asked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from cardmatch.http.problems import Refused

BOUNDS_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the buckets of every histogram: answers take a tenth of a millisecond, slow bodies half a minute."""

UNMATCHED = "unmatched"
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
_ABANDONED = 499


def known_method(method: str) -> str:
    """*method*, or `other`: a label must not take whatever a client writes into its request line."""
    return method if method in _METHODS else "other"


class Series:
    """Durations: how many fell into each bucket, and their sum."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one of *seconds*."""
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.seconds += seconds


class Meter:
    """The counts of one worker since its start."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.requests: dict[tuple[str, str, int], Series] = {}
        self.answers: dict[str, Series] = {}
        self.problems: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.limited: Counter[str] = Counter()

    def served(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request to *route*, the template of its path; status 0 means that the client went away."""
        series = self.requests.get((route, method, status))
        if series is None:
            known = (route, known_method(method), status or _ABANDONED)
            series = self.requests.setdefault(known, Series())
        series.add(seconds)

    def answering(self, operation: str) -> Series:
        """Where the time that *operation* takes for its answers is counted: names, engine and words, without HTTP."""
        return self.answers.setdefault(operation, Series())

    def refused(self, refused: Refused) -> None:
        """Count a problem, and each thing that was wrong."""
        self.problems[refused.kind] += 1
        for fault in refused.faults:
            self.faults[fault.code] += 1
