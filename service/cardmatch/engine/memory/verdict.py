"""The graded verdict: does a job fit the engine's pools, and with how much to spare."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

COMFORTABLE_SHARE_PERCENT = 80
"""Up to this share of the budget, a job is comfortable: the margin that buyers' guides leave for peaks."""


class Verdict(StrEnum):
    """Best first."""

    COMFORTABLE = "comfortable"
    FITS = "fits"
    TIGHT = "tight"
    QUEUES = "queues"
    DOES_NOT_FIT = "does_not_fit"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What one pool of an engine must hold, in bytes on the fullest GPU: with one request, and with all of them."""

    pool: str
    budget_bytes: int
    one_expected_bytes: int
    one_high_bytes: int
    all_expected_bytes: int
    all_high_bytes: int


def judge(load: Load) -> Verdict:
    """The verdict on one pool; the tests are in order, the first that holds decides."""
    if load.one_expected_bytes > load.budget_bytes:
        return Verdict.DOES_NOT_FIT
    if load.one_high_bytes > load.budget_bytes:
        return Verdict.TIGHT
    if load.all_expected_bytes > load.budget_bytes:
        return Verdict.QUEUES
    if load.all_high_bytes > load.budget_bytes:
        return Verdict.TIGHT
    if load.all_high_bytes * 100 <= load.budget_bytes * COMFORTABLE_SHARE_PERCENT:
        return Verdict.COMFORTABLE
    return Verdict.FITS


_SEVERITY = {
    Verdict.COMFORTABLE: 0,
    Verdict.FITS: 1,
    Verdict.TIGHT: 2,
    Verdict.QUEUES: 3,
    Verdict.DOES_NOT_FIT: 4,
}


def worst(loads: Sequence[Load]) -> tuple[Verdict, str]:
    """The verdict over every pool, and the pool that binds: of equally bad ones the fullest."""
    if len(loads) == 1:
        return judge(loads[0]), loads[0].pool
    verdicts = [judge(load) for load in loads]
    position = max(
        range(len(loads)),
        key=lambda i: (_SEVERITY[verdicts[i]], loads[i].all_expected_bytes - loads[i].budget_bytes),
    )
    return verdicts[position], loads[position].pool


def at_best(verdict: Verdict, best: Verdict) -> Verdict:
    """The worse of *verdict* and *best*."""
    return max(verdict, best, key=_SEVERITY.__getitem__)
