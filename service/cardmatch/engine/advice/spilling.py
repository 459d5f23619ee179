"""What does not fit, with the rest of its weights in the machine's RAM: where a request allows offloading."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.pace import Curve, Served
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN, AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.memory.ways.spill import experts_in_ram, layers_in_ram
from cardmatch.engine.memory.ways.trial import Request, Trial, Tried, excess_bytes
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.notice import Notice, NoticeCode
from cardmatch.engine.terms.units import GIB

_MOST_TRIES = 5
_RUNS = frozenset({Verdict.TIGHT, Verdict.FITS, Verdict.COMFORTABLE})


class Spilled(NamedTuple):
    """The engine with its options for offloading, what it reserves, and how many times slower that makes a step.

    `requests` is how many at once it was made room for.
    """

    engine: AnyEngine
    requests: int
    reservation: Reservation
    notice: Notice
    least_times: float
    most_times: float


def spilled(
    job: ServingJob, engine: AnyEngine, where: Placement, calibration: MemoryCalibration, requests: int
) -> Spilled | None:
    """As little in RAM as leaves *requests* of *job* room on *where*, at the high end too; None where nothing does."""
    request = Request(calibration=calibration, alternatives=())
    base = request.tried(
        Trial(changes=(), job=msgspec.structs.replace(job, concurrency=requests), engine=engine, where=where)
    )
    for trial in _trials(base):
        tried = request.tried(trial)
        if tried.placed.verdict in _RUNS and tried.placed.per_gpu.total.high_bytes <= tried.placed.budget_bytes:
            return _found(tried)
    return None


def _trials(base: Tried) -> Iterator[Trial]:
    engine = base.trial.engine
    if isinstance(engine, LLAMA_CPP_KIN):
        yield from islice(experts_in_ram(base), _MOST_TRIES)
        yield from islice(layers_in_ram(base), _MOST_TRIES)
    elif isinstance(engine, Vllm | Sglang) and not engine.cpu_offload_gb:
        least = -(-excess_bytes(base) // GIB)
        whole = base.reservation.weights.expected_bytes // GIB
        for gib in sorted({least, least + 1, -(-least * 5 // 4)}):
            if gib <= whole:
                change = Change(pointer="/workload/engine/cpu_offload_gb", value=float(gib))
                changed = msgspec.structs.replace(engine, cpu_offload_gb=float(gib))
                yield msgspec.structs.replace(base.trial.also(change), engine=changed)


def _found(tried: Tried) -> Spilled | None:
    said = next((each for each in tried.placed.notices if each.code is NoticeCode.OFFLOAD), None)
    if said is None:
        return None
    low, high = (float(str(said.params[name])) for name in ("times_slower_low", "times_slower_high"))
    return Spilled(
        tried.trial.engine, tried.trial.job.concurrency, tried.reservation, said, max(low, 1.0), max(high, 1.0)
    )


def slowed(curve: Curve, spill: Spilled) -> Curve:
    """*curve* with every step as much slower as reading from RAM makes it; the range takes in the rule's own."""
    times = (spill.least_times * spill.most_times) ** 0.5

    def at(batch: float) -> Served:
        found = curve(batch)
        return msgspec.structs.replace(
            found,
            ttft_seconds=found.ttft_seconds * times,
            tpot_seconds=found.tpot_seconds * times,
            requests_per_second=found.requests_per_second / times,
            low_ratio=found.low_ratio * times / spill.most_times,
            high_ratio=found.high_ratio * times / spill.least_times,
            basis=Basis.RULE_OF_THUMB,
        )

    return at
