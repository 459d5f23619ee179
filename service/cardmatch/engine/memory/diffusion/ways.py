"""Ways to fit: changes of each sort that make a pipeline run, and what it then is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.memory.answer import Change, WayToFit
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, Factors
from cardmatch.engine.memory.diffusion.formats import BYTES
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.placed import Tried, attempt, verdict
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.sides import whole_frames
from cardmatch.engine.memory.diffusion.workload import ComponentOffload, Diffusion, Task
from cardmatch.engine.memory.elsewhere import elsewhere
from cardmatch.engine.memory.host_ram import more_host_ram
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.diffusion.component import (
    Autoencoder,
    Component,
    Medium,
    Pipeline,
    TextEncoder,
    Transformer,
    UNet,
)

GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})
SMALLEST_PIXELS = 256
LARGE_TEXT_ENCODER = 10**9
"""Parameters from which quantising a text encoder is worth while: T5 and language models, not CLIP."""

Fields = dict[str, Any]


class Trials(NamedTuple):
    """A job, the constants, and what was tried so far within one request."""

    job: DiffusionJob
    pipeline: Pipeline
    known: Factors
    calibration: DiffusionCalibration
    tried: dict[str, Tried]


def changed(shared: Trials, fields: Fields) -> Tried:
    """The job with *fields* of its workload changed, tried."""
    key = repr(sorted(fields.items()))
    found = shared.tried.get(key)
    if found is None:
        workload: Diffusion = msgspec.structs.replace(shared.job.workload, **fields)
        job = settle(workload, shared.pipeline).job
        found = shared.tried[key] = attempt(job, shared.known, shared.calibration)
    return found


def ways_to_fit(
    shared: Trials, placement: Placement, index: int, alternatives: tuple[Placement, ...]
) -> tuple[WayToFit, ...]:
    """One way of each sort that makes the job fit; offload, which is tight at best, if it runs."""
    found = [_first(shared, sort, placement) for sort in _sorts(shared)]
    found.append(_other_card(shared, placement, index, alternatives))
    found.append(_more_ram(shared, placement, index))
    return tuple([way for way in found if way is not None])


def _first(shared: Trials, sort: Iterator[Fields], placement: Placement) -> WayToFit | None:
    for fields in sort:
        tried = changed(shared, fields)
        judged = verdict(tried, placement)
        if judged.verdict in GOOD or (judged.verdict is Verdict.TIGHT and "offload" in fields):
            changes = tuple([each for name, value in fields.items() for each in changes_of(shared, name, value)])
            return WayToFit(changes=changes, verdict=judged.verdict, headroom_bytes=judged.budget - judged.expected)
    return None


def _more_ram(shared: Trials, placement: Placement, index: int) -> WayToFit | None:
    """A machine with memory enough for what is offloaded."""
    tried = changed(shared, {})
    for where, changes in more_host_ram(placement, index, verdict(tried, placement).host):
        judged = verdict(tried, where)
        if judged.verdict is Verdict.TIGHT:
            return WayToFit(changes=changes, verdict=judged.verdict, headroom_bytes=judged.budget - judged.expected)
    return None


def changes_of(shared: Trials, name: str, value: Any) -> Iterator[Change]:
    """The fields of a request that *name* of its workload stands for, set to *value*."""
    if name != "formats":
        yield Change(pointer=f"/workload/{name}", value=getattr(value, "value", value))
        return
    for component, each in value.items():
        if shared.job.workload.formats.get(component) != each:
            yield Change(pointer=f"/workload/formats/{component}", value=each)


def _sorts(shared: Trials) -> Iterator[Iterator[Fields]]:
    """From what costs least to what costs most: time, quality, the picture, speed."""
    job = shared.job
    if job.inference:
        yield _autoencoder(job)
        yield _smaller_batch(job)
        yield _quantised(job)
        yield _smaller_picture(job)
        yield _fewer_frames(job)
        yield _offloads(job)
    else:
        yield _recomputation(job)
        yield _optimizers(job)
        yield _smaller_batch(job)
        yield _smaller_picture(job)
        yield _fewer_frames(job)
        yield _adapters(job)
        yield _quantised_base(job)


def _autoencoder(job: DiffusionJob) -> Iterator[Fields]:
    """Decoding picture by picture, then tile by tile."""
    if not job.workload.vae_slicing and job.size.batch > 1:
        yield {"vae_slicing": True}
    if not job.workload.vae_tiling:
        yield {"vae_tiling": True}
        if not job.workload.vae_slicing and job.size.batch > 1:
            yield {"vae_slicing": True, "vae_tiling": True}


def _smaller_batch(job: DiffusionJob) -> Iterator[Fields]:
    batch = job.size.batch
    while batch > 1:
        batch = (batch + 1) // 2
        yield {"batch": batch}


def _smaller_picture(job: DiffusionJob) -> Iterator[Fields]:
    """Three quarters, a half, three eighths … of each side, in steps of 64 pixels."""
    for share in (0.75, 0.5, 0.375, 0.25):
        width, height = (max(64, round(side * share / 64) * 64) for side in (job.size.width, job.size.height))
        if min(width, height) < SMALLEST_PIXELS:
            return
        yield {"width_pixels": width, "height_pixels": height}


def _fewer_frames(job: DiffusionJob) -> Iterator[Fields]:
    if job.pipeline.medium is Medium.VIDEO:
        frames = job.size.frames
        while frames > 16:
            frames = whole_frames(job, (frames + 1) // 2)
            yield {"frames": frames}


def large(component: Component) -> bool:
    """Whether quantising *component* is worth while."""
    return isinstance(component, UNet | Transformer) or (
        isinstance(component, TextEncoder) and component.parameters >= LARGE_TEXT_ENCODER
    )


def _quantised(job: DiffusionJob) -> Iterator[Fields]:
    """Large components in fp8, then in nf4; then with tiles besides."""
    plain = [part for part in job.parts if part.format in BYTES and large(part.component)]
    tiled = not job.workload.vae_tiling and any(isinstance(part.component, Autoencoder) for part in job.parts)
    for more in ({}, {"vae_tiling": True}) if tiled else ({},):
        for name in ("fp8", "nf4") if plain else ():
            yield {"formats": job.workload.formats | {part.name: name for part in plain}, **more}


def _offloads(job: DiffusionJob) -> Iterator[Fields]:
    if job.offload is not ComponentOffload.NONE:
        return
    for kind in (ComponentOffload.MODEL, ComponentOffload.GROUP, ComponentOffload.SEQUENTIAL):
        yield {"offload": kind}
        if not job.workload.vae_tiling:
            yield {"offload": kind, "vae_tiling": True}


def _recomputation(job: DiffusionJob) -> Iterator[Fields]:
    if job.workload.gradient_checkpointing is False:
        yield {"gradient_checkpointing": True}


def _optimizers(job: DiffusionJob) -> Iterator[Fields]:
    if job.workload.task is Task.FULL and job.workload.optimizer in {None, OptimizerName.ADAMW}:
        yield {"optimizer": OptimizerName.ADAMW_8BIT}
        if job.workload.precision is not Precision.BF16:
            yield {"optimizer": OptimizerName.ADAMW_8BIT, "precision": Precision.BF16}


def _adapters(job: DiffusionJob) -> Iterator[Fields]:
    if job.workload.task is Task.FULL:
        yield {"task": Task.LORA, "precision": Precision.BF16}


def _quantised_base(job: DiffusionJob) -> Iterator[Fields]:
    """Adapters over a denoiser in nf4."""
    denoisers = [part for part in job.parts if isinstance(part.component, UNet | Transformer) and part.format in BYTES]
    if denoisers:
        formats = job.workload.formats | {part.name: "nf4" for part in denoisers}
        more: Fields = {"task": Task.LORA, "precision": Precision.BF16} if job.workload.task is Task.FULL else {}
        yield {"formats": formats, **more}


def _other_card(
    shared: Trials, placement: Placement, index: int, alternatives: tuple[Placement, ...]
) -> WayToFit | None:
    tried = changed(shared, {})
    for where, changes in elsewhere(placement, index, alternatives):
        judged = verdict(tried, where)
        if judged.verdict in GOOD:
            headroom = judged.budget - judged.expected
            return WayToFit(changes=changes, verdict=judged.verdict, headroom_bytes=headroom)
    return None
