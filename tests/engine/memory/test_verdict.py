"""The order in which a verdict is found."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.verdict import Load, Verdict, judge, worst


def load(one: tuple[int, int], every: tuple[int, int], pool: str = "memory") -> Load:
    """A pool of 100 bytes."""
    return Load(
        pool=pool,
        budget_bytes=100,
        one_expected_bytes=one[0],
        one_high_bytes=one[1],
        all_expected_bytes=every[0],
        all_high_bytes=every[1],
    )


@pytest.mark.parametrize(
    ("one", "every", "verdict"),
    [
        ((101, 110), (200, 220), Verdict.DOES_NOT_FIT),
        ((95, 101), (200, 220), Verdict.TIGHT),
        ((50, 60), (101, 120), Verdict.QUEUES),
        ((50, 60), (95, 101), Verdict.TIGHT),
        ((50, 60), (75, 80), Verdict.COMFORTABLE),
        ((50, 60), (75, 81), Verdict.FITS),
    ],
)
def test_the_first_test_that_holds_decides(one: tuple[int, int], every: tuple[int, int], verdict: Verdict) -> None:
    """DESIGN's ladder: one request first, then all of them, then the margin."""
    assert judge(load(one, every)) is verdict


def test_every_pool_must_hold() -> None:
    """The pool that does not hold is the one that binds."""
    loads = (load((10, 10), (20, 20), "weights and cache"), load((101, 110), (120, 130), "activations"))
    assert worst(loads) == (Verdict.DOES_NOT_FIT, "activations")
