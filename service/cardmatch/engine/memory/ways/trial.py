"""A changed job tried on a placement, and what the changes of one request have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN, AnyEngine, arranged, reserve
from cardmatch.engine.memory.inference import Resident
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.named import Find, nobody, resident_bytes
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.profile import profile, stored_as
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.split import check_layout
from cardmatch.engine.memory.supported import check_card
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import Invalid

GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A job with some fields changed, an engine with some options changed, somewhere."""

    changes: tuple[Change, ...]
    job: ServingJob
    engine: AnyEngine
    where: Placement
    wanted: frozenset[Verdict] = GOOD

    def also(self, *changes: Change, **replaced: Any) -> Trial:
        """This trial with more *changes*, which set *replaced* fields of the job."""
        job = msgspec.structs.replace(self.job, **replaced) if replaced else self.job
        return msgspec.structs.replace(self, changes=self.changes + changes, job=job)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a trial, where its engine and the models beside it leave it to run."""

    trial: Trial
    where: Placement
    reservation: Reservation
    placed: PlacementEstimate

    @property
    def good(self) -> bool:
        """Whether the verdict is one that was wanted."""
        return self.placed.verdict in self.trial.wanted

    @property
    def way(self) -> WayToFit:
        """The trial as an answer."""
        return WayToFit(
            changes=self.trial.changes, verdict=self.placed.verdict, headroom_bytes=self.placed.headroom_bytes
        )


class Request(msgspec.Struct, kw_only=True):
    """What all placements of one request share; jobs in other weight formats are made once."""

    calibration: MemoryCalibration
    alternatives: tuple[Placement, ...]
    explained: bool = False
    residents: tuple[Resident, ...] = ()
    find: Find = nobody
    reweighted: dict[str, ServingJob] = {}

    def tried(self, trial: Trial) -> Tried:
        """*trial* judged; one without changes with the most that it holds."""
        found = self._judged(trial)
        if trial.changes or not isinstance(trial.engine, LLAMA_CPP_KIN):
            return found
        return msgspec.structs.replace(found, placed=self._limited(trial, found.placed))

    def _limited(self, trial: Trial, placed: PlacementEstimate) -> PlacementEstimate:
        """*placed* with the most that llama.cpp holds when asked for it: its buffers grow with slots and length."""
        job = trial.job

        def at_once(number: int) -> bool:
            return self._judged(_changed(trial, concurrency=number)).placed.verdict not in _WAITING

        def alone(tokens: int) -> bool:
            asked = _changed(trial, context_tokens=tokens, mean_tokens=tokens, concurrency=1)
            return self._judged(asked).placed.verdict is not Verdict.DOES_NOT_FIT

        runs = 0 if placed.verdict in _WAITING else job.concurrency
        starts = 0 if placed.verdict is Verdict.DOES_NOT_FIT else job.context_tokens
        return msgspec.structs.replace(
            placed,
            max_concurrency=_settled(placed.max_concurrency, runs, at_once),
            max_context_tokens=_settled(placed.max_context_tokens, min(starts, job.longest_possible_tokens), alone),
        )

    def _judged(self, trial: Trial) -> Tried:
        where = arranged(trial.engine, trial.where)
        if self.residents:
            others = resident_bytes(self.residents, trial.engine, where, self.find, self.calibration)
            where = msgspec.structs.replace(where, occupied_bytes=where.occupied_bytes + others)
        reservation = reserve(trial.job, trial.engine, where, self.calibration)
        placed = place(trial.job, where, reservation, limits=not trial.changes)
        return Tried(trial=trial, where=where, reservation=reservation, placed=placed)

    def in_format(self, job: ServingJob, name: str) -> ServingJob:
        """*job* with its weights in format *name*."""
        if name not in self.reweighted:
            checkpoint = stored_as(job.architecture, job.checkpoint, name)
            sums = profile(job.architecture, checkpoint).sums
            self.reweighted[name] = msgspec.structs.replace(job, checkpoint=checkpoint, sums=sums)
        return self.reweighted[name]


_WAITING = frozenset({Verdict.QUEUES, Verdict.DOES_NOT_FIT})
_MOST_STEPS = 16


def _changed(trial: Trial, **replaced: Any) -> Trial:
    """*trial* with fields of its job replaced, judged without limits of its own."""
    return trial.also(Change(pointer="", value=None), **replaced)


def _settled(number: int, good: int, holds: Callable[[int], bool]) -> int:
    """*number*, or where that does not hold a smaller one that does, from *good* upwards."""
    if number <= good or holds(number):
        return max(number, good)
    bad = number
    for _ in range(_MOST_STEPS):
        if bad - good < 2:
            break
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def acceptable(trial: Trial) -> bool:
    """Whether a request with the changes of *trial* would be answered: its layout and its cache are possible there."""
    try:
        check_layout(trial.job.architecture, arranged(trial.engine, trial.where), 0)
        check_card(trial.engine, trial.job.kv_cache, trial.where.device)
    except Invalid:
        return False
    return True


def excess_bytes(tried: Tried) -> int:
    """By how much the fullest pool is too small for all requests even at the high end of every band.

    Where the verdict is not good and nothing is missing by that count, one byte is.
    """
    total = tried.placed.per_gpu.total.high_bytes
    return max(1, total - tried.placed.budget_bytes)
