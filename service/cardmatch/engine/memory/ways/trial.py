"""A changed job tried on a placement, and what the changes of one request have in common."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import AnyEngine, arranged, reserve
from cardmatch.engine.memory.inference import Resident
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.named import Find, nobody, resident_bytes
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.profile import profile, stored_as
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.verdict import Verdict

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
        """*trial* judged."""
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


def excess_bytes(tried: Tried) -> int:
    """By how much the fullest pool is too small for all requests even at the high end of every band.

    Where the verdict is not good and nothing is missing by that count, one byte is.
    """
    total = tried.placed.per_gpu.total.high_bytes
    return max(1, total - tried.placed.budget_bytes)
