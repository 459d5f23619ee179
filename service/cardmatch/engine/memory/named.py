"""Further models that a workload names: drafters, and others that share the cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import arranged, reserve
from cardmatch.engine.memory.inference import Inference, Resident
from cardmatch.engine.memory.job import Drafter, ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.profile import profile
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.speculation import SpeculativeMethod
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

Find = Callable[[str], tuple[Architecture, Checkpoint]]
"""The model that a name means. Raises Invalid with the pointer /model where there is none."""


def nobody(name: str) -> tuple[Architecture, Checkpoint]:
    """Knows no model."""
    raise refusal(FaultCode.UNKNOWN_MODEL, "/model", name=name)


def with_drafter(job: ServingJob, find: Find, pointer: str) -> ServingJob:
    """*job* with the model that drafts for it; heads that no catalogue lists are taken by their usual shape.

    *pointer* is that of the object that names the drafter. Raises Invalid where a drafter is a model nobody knows.
    """
    speculative = job.speculative
    if speculative is None or speculative.method in {SpeculativeMethod.MTP, SpeculativeMethod.NGRAM}:
        return job
    whole = speculative.method is SpeculativeMethod.DRAFT_MODEL
    if speculative.model is None:
        if whole:
            raise refusal(FaultCode.NEEDS_FIELD, pointer, field="model")
        return job
    if not whole:
        return job
    try:
        architecture, checkpoint = find(speculative.model)
    except Invalid as unknown:
        raise unknown.under(pointer) from None
    known = profile(architecture, checkpoint)
    return msgspec.structs.replace(job, drafter=Drafter(sums=known.sums, cache_rows=known.cache_rows))


def resident_bytes(
    residents: tuple[Resident, ...],
    engine: Any,
    placement: Placement,
    find: Find,
    calibration: MemoryCalibration,
) -> int:
    """What *residents* take on each GPU of *placement*, in an engine like *engine* at its defaults.

    Raises Invalid with pointers under /workload/also_resident.
    """
    return sum(
        _resident_bytes(resident, engine, placement, find, calibration, f"/workload/also_resident/{index}")
        for index, resident in enumerate(residents)
    )


def _resident_bytes(
    resident: Resident,
    engine: Any,
    placement: Placement,
    find: Find,
    calibration: MemoryCalibration,
    pointer: str,
) -> int:
    own = type(engine)(version=engine.version)
    workload = Inference(
        engine=own,
        context_tokens=resident.context_tokens,
        concurrency=resident.concurrency,
        mean_tokens_per_request=resident.mean_tokens_per_request,
        weights=resident.weights,
        kv_cache=resident.kv_cache,
    )
    try:
        architecture, checkpoint = find(resident.model)
    except Invalid as unknown:
        raise unknown.under(pointer) from None
    try:
        job, _ = settle(workload, architecture, checkpoint)
    except Invalid as wrong:
        raise wrong.moved("/workload", pointer) from None
    where = arranged(own, placement)
    return place(job, where, reserve(job, own, where, calibration), limits=False).per_gpu.total.expected_bytes


def residents_notices(residents: tuple[Resident, ...], size: int) -> tuple[Notice, ...]:
    """What the others take, which counts as occupied."""
    if not residents:
        return ()
    names = [resident.model for resident in residents]
    return (notice(NoticeCode.RESIDENTS_TAKE, Severity.INFO, models=names, resident_bytes=size),)
