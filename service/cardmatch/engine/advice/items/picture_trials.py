"""The settings that a pipeline is tried with on a card: as published, in tiles, in fewer bits, from the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cardmatch.engine.advice.candidates import AS_PUBLISHED, Form, native
from cardmatch.engine.advice.choice import Broken
from cardmatch.engine.advice.items.search import placement_of
from cardmatch.engine.advice.items.sizing import Batch, sized, unpaced
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.sizing import Sized
from cardmatch.engine.advice.trying import GOOD, Outcome, Tried
from cardmatch.engine.advice.variant import Variant
from cardmatch.engine.hardware.card import mig_profile
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.diffusion.formats import BYTES
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.placed import Judged, verdict
from cardmatch.engine.memory.diffusion.ways import Fields, Trials, changed, changes_of, large, ways_to_fit
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.diffusion.component import Autoencoder
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.pictures import making_speed

SETTINGS = (AS_PUBLISHED, "fp8", "int8", "nf4")
"""Formats that diffusers puts large components into while it loads them (quanto; bitsandbytes for NF4)."""

_TRIED = (AS_PUBLISHED, "fp8", "nf4")
_OFFLOADS = (ComponentOffload.MODEL, ComponentOffload.GROUP, ComponentOffload.SEQUENTIAL)


class Painting(NamedTuple):
    """What all cards share: the job and its trials, what is asked, and chips looked up once."""

    shared: Trials
    demand: Demand
    wanted: Wanted
    presets: Presets
    speed: SpeedCalibration
    chips: dict[tuple[str, str | None], Chip]

    def chip(self, form: Form) -> Chip:
        """The chip of *form*, or of its slice."""
        key = form.card.id, form.mig
        if key not in self.chips:
            profile = mig_profile(form.card, form.mig) if form.mig else None
            self.chips[key] = chip_of(form.card, profile)
        return self.chips[key]


def trials(painting: Painting, form: Form) -> Iterator[tuple[Tried, Broken | None]]:
    """The first settings that fit; beside fewer bits, where they are needed, those that wait in the host's memory."""
    where, asked = placement_of(form), painting.shared.job.workload
    nearest: tuple[Judged, Fields] | None = None
    tight = asked.offload is not ComponentOffload.NONE
    for label, fields in _settings(painting, form):
        judged = verdict(changed(painting.shared, fields), where)
        if judged.verdict in GOOD or (tight and judged.verdict is Verdict.TIGHT):
            yield _works(painting, form._replace(weights=label), where, fields)
            if label != AS_PUBLISHED and painting.wanted.allow.offload:
                yield from _offloaded(painting, form, where)
            return
        if nearest is None or _missing(judged) < _missing(nearest[0]):
            nearest = judged, fields
    spilled = list(_offloaded(painting, form, where)) if painting.wanted.allow.offload else []
    yield from spilled
    if not spilled and nearest is not None:
        yield _fails(painting, form, where, *nearest), None


def _settings(painting: Painting, form: Form) -> Iterator[tuple[str, Fields]]:
    """Least change first: formats as asked, each decoded as asked and then in tiles."""
    job, allowed = painting.shared.job, painting.wanted.allow.weights
    plain = [part.name for part in job.parts if part.format in BYTES and large(part.component)]
    labels = _TRIED if allowed is None and not job.workload.formats and job.inference else allowed or _TRIED[:1]
    for label in labels:
        if label == AS_PUBLISHED:
            fields: Fields = {}
        elif plain and native(label, form.card, painting.presets):
            fields = {"formats": job.workload.formats | dict.fromkeys(plain, label)}
        else:
            continue
        yield label, fields
        for tiles in _tiles(job):
            yield label, fields | tiles


def _tiles(job: DiffusionJob) -> tuple[Fields, ...]:
    decodes = any(isinstance(part.component, Autoencoder) for part in job.parts)
    if not decodes or not job.inference or job.workload.vae_tiling:
        return ()
    return ({"vae_tiling": True, "vae_slicing": True},) if job.size.batch > 1 else ({"vae_tiling": True},)


def _offloaded(painting: Painting, form: Form, where: Placement) -> Iterator[tuple[Tried, Broken | None]]:
    """The quickest sort of offload that runs, formats as published."""
    if painting.shared.job.workload.offload is not ComponentOffload.NONE or not painting.shared.job.inference:
        return
    for fields in _spills(painting.shared.job):
        if verdict(changed(painting.shared, fields), where).verdict is Verdict.TIGHT:
            yield _works(painting, form, where, fields)
            return


def _spills(job: DiffusionJob) -> Iterator[Fields]:
    for kind in _OFFLOADS:
        yield {"offload": kind}
        for tiles in _tiles(job):
            yield {"offload": kind, **tiles}


def _missing(judged: Judged) -> int:
    return judged.high - judged.budget


def _works(painting: Painting, form: Form, where: Placement, fields: Fields) -> tuple[Tried, Broken | None]:
    shared = painting.shared
    job = changed(shared, fields).job
    changes = tuple([each for name, value in fields.items() for each in changes_of(shared, name, value)])
    size = _sized(painting, job, painting.chip(form))
    variant = Variant(job, changes)
    if isinstance(size, Broken):
        return Tried(form, None, where, Outcome.TOO_SLOW, None, 0, variant), size
    return Tried(form, None, where, Outcome.WORKS, size, 0, variant), None


def _sized(painting: Painting, job: DiffusionJob, chip: Chip) -> Sized | Broken:
    found, size = making_speed(job, chip, painting.speed), job.size.batch
    if found is None:
        return unpaced(painting.demand, size)
    seconds = found.seconds
    # The weights cross the memory bus once a step: little beside the arithmetic of thousands of cells.
    reading = sum(part.bytes for part in job.parts if large(part.component)) / chip.bandwidth_bytes
    batch = Batch(
        size=size,
        seconds=float(f"{seconds.expected:.9g}"),  # so that what is equally quick is equal
        low_ratio=seconds.expected / seconds.high,
        high_ratio=seconds.expected / seconds.low,
        basis=seconds.basis,
        memory_share=min(reading / max(found.step_seconds.expected, reading), 1.0),
    )
    return sized(painting.demand, lambda _: batch, size, painting.presets.busy_share.share)


def _fails(painting: Painting, form: Form, where: Placement, judged: Judged, fields: Fields) -> Tried:
    outcome = Outcome.TIGHT if judged.verdict is Verdict.TIGHT else Outcome.DOES_NOT_FIT
    missing = (judged.high if outcome is Outcome.TIGHT else judged.expected) - judged.budget
    variant = Variant(changed(painting.shared, fields).job, (), _remedy(painting, where))
    return Tried(form, None, where, outcome, None, max(missing, 0), variant)


def _remedy(painting: Painting, where: Placement) -> Change | None:
    """Offload where it would do and was not allowed, else one smaller thing: batch, picture or video."""
    shared = painting.shared
    runs = (fields for fields in _spills(shared.job) if shared.job.inference)
    if not painting.wanted.allow.offload and any(
        verdict(changed(shared, fields), where).verdict is Verdict.TIGHT for fields in runs
    ):
        return Change(pointer="/allow/offload", value=True)
    for way in ways_to_fit(shared, where, 0, ()):
        if way.verdict in GOOD:
            return way.changes[0]
    return None
