"""The formats and batches that an encoder is tried with on a card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.candidates import AS_PUBLISHED, Form, native
from cardmatch.engine.advice.choice import Broken
from cardmatch.engine.advice.items.search import placement_of
from cardmatch.engine.advice.items.sizing import Batch, Batches, sized
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.recommend import Subject
from cardmatch.engine.advice.trying import GOOD, Outcome, Tried
from cardmatch.engine.advice.variant import Variant
from cardmatch.engine.hardware.card import Card, mig_profile
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.encode.estimate import judged_on
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.encoded import encoder_shape, encoding_speed
from cardmatch.engine.speed.shape import Shape

TEXTS_AT_ONCE, TOKENS_AT_ONCE = 32, 16_384
"""Batch of sentence-transformers' `encode`, and text-embeddings-inference's `--max-batch-tokens`: both defaults."""

WINDOWS_AT_ONCE = 8
"""faster-whisper's own batch of windows."""

FORMATS = (AS_PUBLISHED, "bf16", "fp16", "fp32", "fp8", "int8")
"""Formats that infinity puts a model into while it loads (`--dtype`)."""

_HALF, _SHORTEST = "fp16", 128
_SMALLER = ("fp8", "int8")


class Encoding(NamedTuple):
    """What all cards share: the model and its workload, what is asked, and what is looked up once."""

    subject: Subject
    workload: Encode
    job: EncodeJob
    context: int
    demand: Demand
    wanted: Wanted
    presets: Presets
    speed: SpeedCalibration
    jobs: dict[str, tuple[EncodeJob, Shape]]
    chips: dict[tuple[str, str | None], Chip]

    def stored(self, weights: str) -> tuple[EncodeJob, Shape]:
        """The job with its weights in a format, and its shape."""
        if weights not in self.jobs:
            job = self.job
            if weights != AS_PUBLISHED:
                asked = msgspec.structs.replace(self.workload, weights=weights)
                job = settle(asked, self.subject.architecture, self.subject.checkpoint)
            self.jobs[weights] = job, encoder_shape(job)
        return self.jobs[weights]

    def chip(self, form: Form) -> Chip:
        """The chip of *form*, or of its slice."""
        key = form.card.id, form.mig
        if key not in self.chips:
            self.chips[key] = chip_of(form.card, mig_profile(form.card, form.mig) if form.mig else None)
        return self.chips[key]


def trials(encoding: Encoding, form: Form) -> Iterator[tuple[Tried, Broken | None]]:
    """Each format of the plain ones that fits, each in its largest batch; smaller ones only where none of them does."""
    fits, failed = False, None
    for weights in _formats(encoding, form.card):
        if fits and weights in _SMALLER and encoding.wanted.allow.weights is None:
            break
        tried, broken = _tried(encoding, form._replace(weights=weights))
        if tried.outcome in {Outcome.WORKS, Outcome.TOO_SLOW}:
            fits = True
            yield tried, broken
        elif failed is None or tried.missing_bytes < failed.missing_bytes:
            failed = tried
    if not fits and failed is not None:
        yield failed, None


def _formats(encoding: Encoding, card: Card) -> tuple[str, ...]:
    """As published where the card multiplies that, in 16 bits where those are fewer, and in 8."""
    allowed, published = encoding.wanted.allow.weights, encoding.job.checkpoint.format
    if allowed is not None:
        return tuple([name for name in allowed if native(name, card, encoding.presets)])
    if encoding.workload.weights != AS_PUBLISHED or published not in {"fp32", "fp16", "bf16"}:
        return (AS_PUBLISHED,)
    smaller = [name for name in _SMALLER if native(name, card, encoding.presets)]
    if published == "bf16" and card.dense.bf16_tflops is None:
        return (_HALF, *smaller)
    return (AS_PUBLISHED, _HALF, *smaller) if published == "fp32" else (AS_PUBLISHED, *smaller)


def _tried(encoding: Encoding, form: Form) -> tuple[Tried, Broken | None]:
    (job, shape), where = encoding.stored(form.weights), placement_of(form)
    budget = where.device.memory_bytes
    most = largest(job, budget, encoding.context)
    if not most:
        judged = judged_on(job, encoding.workload.batch or 1, job.tokens, encoding.context, budget)
        tight = judged.verdict is Verdict.TIGHT
        outcome = Outcome.TIGHT if tight else Outcome.DOES_NOT_FIT
        missing = (judged.total.high_bytes if tight else judged.total.expected_bytes) - budget
        variant = Variant(job, (), _remedy(encoding, job, budget))
        return Tried(form, None, where, outcome, None, max(missing, 0), variant), None
    each = max(job.windows, 1)
    batches = _batches(encoding, job, shape, encoding.chip(form), most)
    size = sized(encoding.demand, batches, max(1, most // each), encoding.presets.busy_share.share)
    if isinstance(size, Broken):
        return Tried(form, None, where, Outcome.TOO_SLOW, None, 0, Variant(job, ())), size
    kept = msgspec.structs.replace(job, batch=min(most, size.most_at_once * each))
    return Tried(form, None, where, Outcome.WORKS, size, 0, Variant(kept, _changes(encoding, form, kept))), None


def largest(job: EncodeJob, budget: int, context: int) -> int:
    """The largest batch up to the usual one, or the one asked for, that surely fits in *budget*; 0 where none does."""
    batch = usual(job)
    while batch and judged_on(job, batch, job.tokens, context, budget).verdict not in GOOD:
        batch = 0 if job.workload.batch is not None else batch // 2
    return batch


def usual(job: EncodeJob) -> int:
    """What servers put into a batch by themselves."""
    if job.workload.batch is not None:
        return job.batch
    if job.workload.task is EncodeTask.SPEECH:
        return WINDOWS_AT_ONCE
    return max(1, min(TEXTS_AT_ONCE, TOKENS_AT_ONCE // job.tokens))


def _batches(encoding: Encoding, job: EncodeJob, shape: Shape, chip: Chip, most: int) -> Batches:
    """Seconds of so many texts or recordings, whose windows go through at most *most* at once."""
    tokens, known, each = encoding.demand.prompt_tokens, encoding.speed, max(job.windows, 1)

    def at(size: int) -> Batch:
        rate = encoding_speed(job, shape, chip, known, batch=min(most, size * each), tokens=tokens).items_per_second
        return Batch(
            size=size,
            seconds=size / rate.expected,
            low_ratio=rate.low / rate.expected,
            high_ratio=rate.high / rate.expected,
            basis=rate.basis,
            memory_share=0.0,
        )

    return at


def _changes(encoding: Encoding, form: Form, job: EncodeJob) -> tuple[Change, ...]:
    """The format and the batch that the search chose."""
    found = []
    if form.weights != AS_PUBLISHED:
        found.append(Change(pointer="/workload/weights", value=form.weights))
    if encoding.workload.batch is None:
        found.append(Change(pointer="/workload/batch", value=job.batch))
    return tuple(found)


def _remedy(encoding: Encoding, job: EncodeJob, budget: int) -> Change | None:
    """A smaller batch, else shorter texts, that would fit."""
    batch, tokens = job.batch, job.tokens if job.workload.task is not EncodeTask.SPEECH else 0
    while batch > 1:
        batch //= 2
        if judged_on(job, batch, job.tokens, encoding.context, budget).verdict in GOOD:
            return Change(pointer="/workload/batch", value=batch)
    while tokens >= _SHORTEST:
        tokens //= 2
        if judged_on(job, 1, tokens, encoding.context, budget).verdict in GOOD:
            return Change(pointer="/workload/sequence_tokens", value=tokens)
    return None
