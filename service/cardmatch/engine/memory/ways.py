"""Ways to fit: the smallest changes of each sort that make a job run, and what it then is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.settle import weights_of
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.checkpoint import requantised
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.models.kv_formats import KvFormat, bytes_per_element

GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})
_WEIGHTS = ("int8", "fp8", "awq_int4", "nvfp4")
_FP8_SINCE = (8, 9)
_NVFP4_SINCE = (10, 0)
_Try = tuple[tuple[Change, ...], ServingJob, Placement]


def ways_to_fit(
    job: ServingJob,
    workload: Inference,
    placement: Placement,
    index: int,
    now: PlacementEstimate,
    calibration: MemoryCalibration,
    alternatives: tuple[Placement, ...],
) -> tuple[WayToFit, ...]:
    """One way of each sort that turns *now* into fits or comfortable: weights, cache, lengths, another card."""
    ways: list[WayToFit] = []
    for sort in _sorts(job, placement, index, now, alternatives):
        for changes, changed, where in sort:
            placed = place(changed, where, reserve(changed, workload.engine, where, calibration))
            if placed.verdict in GOOD:
                ways.append(WayToFit(changes=changes, verdict=placed.verdict, headroom_bytes=placed.headroom_bytes))
                break
    return tuple(ways)


def _sorts(
    job: ServingJob, placement: Placement, index: int, now: PlacementEstimate, alternatives: tuple[Placement, ...]
) -> Iterator[Iterator[_Try]]:
    yield _weight_formats(job, placement)
    yield _cache_formats(job, placement)
    yield _both_formats(job, placement)
    yield _shorter(job, placement, now)
    yield _other_cards(job, placement, index, alternatives)


def _weight_formats(job: ServingJob, placement: Placement) -> Iterator[_Try]:
    """From the largest format down, of those that the card multiplies natively or any card unpacks."""
    if job.checkpoint.format not in DTYPE_BITS:
        return
    for name in _WEIGHTS:
        if _runs(name, placement):
            yield (Change(pointer="/workload/weights", value=name),), _reweighted(job, name), placement


def _reweighted(job: ServingJob, name: str) -> ServingJob:
    checkpoint = requantised(job.architecture, job.checkpoint, name)
    return msgspec.structs.replace(job, checkpoint=checkpoint, sums=weights_of(job.architecture, checkpoint))


def _runs(name: str, placement: Placement) -> bool:
    since = {"fp8": _FP8_SINCE, "nvfp4": _NVFP4_SINCE}.get(name)
    if since is None:
        return True
    major, _, minor = (placement.device.compute_capability or "").partition(".")
    return major.isdigit() and minor.isdigit() and (int(major), int(minor)) >= since


def _cache_formats(job: ServingJob, placement: Placement) -> Iterator[_Try]:
    name = KvFormat.FP8_E4M3
    if isinstance(job.kv_cache, KvFormat) and bytes_per_element(job.kv_cache) > 1:
        yield (
            (Change(pointer="/workload/kv_cache", value=name.value),),
            msgspec.structs.replace(job, kv_cache=name),
            placement,
        )


def _both_formats(job: ServingJob, placement: Placement) -> Iterator[_Try]:
    for cache_change, with_cache, _ in _cache_formats(job, placement):
        for weight_change, with_both, _ in _weight_formats(with_cache, placement):
            yield weight_change + cache_change, with_both, placement


def _shorter(job: ServingJob, placement: Placement, now: PlacementEstimate) -> Iterator[_Try]:
    """As many requests, or as long a request, as the cache holds."""
    fewer = now.max_concurrency
    if now.verdict is Verdict.QUEUES and fewer > 0:
        yield (
            (Change(pointer="/workload/concurrency", value=fewer),),
            msgspec.structs.replace(job, concurrency=fewer),
            placement,
        )
    tokens = now.max_context_tokens
    if 0 < tokens < job.context_tokens:
        yield (
            (Change(pointer="/workload/context_tokens", value=tokens),),
            msgspec.structs.replace(job, context_tokens=tokens, mean_tokens=min(job.mean_tokens, tokens)),
            placement,
        )


def _other_cards(
    job: ServingJob, placement: Placement, index: int, alternatives: tuple[Placement, ...]
) -> Iterator[_Try]:
    """More of the same card by tensor parallelism first, then the smallest other card."""
    for other in alternatives:
        if other.device.memory_bytes > placement.device.memory_bytes:
            card = other.device.card or ""
            where = msgspec.structs.replace(other, layout=placement.layout, count=placement.count)
            yield (Change(pointer=f"/cards/{index}/card", value=card),), job, where
