"""The peak of a training step: the largest of the loss, recomputation and optimizer moments, and what it reserves.

Every moment is a quadratic in the tokens of the micro-batch and the length of a sequence, so that inverse questions
have closed answers (`inverse`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.demand import Demand
from cardmatch.engine.memory.training.frameworks import CrossEntropy


class Moment(StrEnum):
    """When memory peaks: all activations and the logits, the first backward layer, or the optimizer's step."""

    LOSS = "loss"
    RECOMPUTE = "recompute"
    STEP = "step"


class Factors(NamedTuple):
    """The calibration's constants as plain numbers."""

    eager_logit_bytes: float
    kernel_logit_bytes: float
    live_factor: float
    sharded_live_factor: float
    eager_factor: float
    unreused_share: float
    step_unreused_share: float
    varying_growth: float
    context_bytes: float
    rank_bytes: float


def factors(calibration: TrainingCalibration) -> Factors:
    """The constants of *calibration*."""
    return Factors(*[getattr(calibration, name).value for name in Factors._fields])


class Curve(NamedTuple):
    """Bytes as a function of the tokens on the rank: fixed + each × tokens + square × tokens × sequence length, and
    `sequence` for each sequence.
    """

    fixed: float
    each: float
    square: float
    sequence: float = 0.0

    def at(self, tokens: float, sequence_tokens: int) -> float:
        """The bytes of a micro-batch of *tokens* in sequences of *sequence_tokens*."""
        return self.fixed + (self.each + self.square * sequence_tokens + self.sequence / sequence_tokens) * tokens


class Curves(NamedTuple):
    """A demand with the calibration's constants in it. `outside` is what lies outside PyTorch's allocator.

    `live` is the layer of the decoder in its backward pass, `encoder` that of the encoder.
    """

    resident: float
    kept: Curve
    logits: Curve
    live: Curve
    encoder: Curve
    passes: float
    backward: float
    step: float
    growth: float
    reserved_logits: float
    outside: float
    pageable: float
    unreused_share: float
    step_unreused_share: float


class Peak(NamedTuple):
    """Bytes on one rank. `resident` is there at every moment; the three moments come on top of it.

    `floor` is the least that the process can do with: PyTorch gives cached blocks back, and paged optimizer states
    leave, before an allocation fails.
    """

    resident: float
    kept: float
    logits: float
    live: float
    loss: float
    recompute: float
    step: float
    allocated: float
    reserved: float
    process: float
    floor: float

    @property
    def moment(self) -> Moment:
        """The moment of the peak."""
        if self.loss >= max(self.recompute, self.step):
            return Moment.LOSS
        return Moment.RECOMPUTE if self.recompute >= self.step else Moment.STEP


def curves(demand: Demand, known: Factors) -> Curves:
    """*demand* with the constants of *known*."""
    states, gathered = demand.states, demand.gathers
    kept = known.eager_factor if demand.eager and not demand.recomputes else 1.0
    live = known.live_factor * (known.sharded_live_factor if demand.sharded else 1.0)
    eager = demand.cross_entropy is CrossEntropy.EAGER
    logit = known.eager_logit_bytes if eager else known.kernel_logit_bytes
    each = demand.loss_per_token + demand.logits_per_token * logit
    # A kernel spares live copies, but its 16-bit logits and their fp32 copy are blocks that cannot serve each other.
    blocks = demand.loss_per_token + demand.logits_per_token * max(logit, known.eager_logit_bytes)
    step = max(states.gradients + states.step_temporary, gathered.accumulated) + gathered.end
    return Curves(
        resident=states.weights + states.optimizer,
        kept=Curve(0.0, kept * demand.kept_per_token, kept * demand.kept_scores, kept * demand.sourced.kept),
        logits=Curve(demand.loss_fixed, each, 0.0),
        live=Curve(0.0, live * demand.live_per_token, live * demand.live_scores, live * demand.sourced.live),
        encoder=Curve(0.0, 0.0, 0.0, live * demand.sourced.encoder),
        passes=states.held_gradients + gathered.accumulated + gathered.passes,
        backward=gathered.backward,
        step=step,
        growth=known.varying_growth if demand.varying else 1.0,
        reserved_logits=blocks / each if each else 1.0,
        outside=known.context_bytes + (known.rank_bytes if demand.several else 0.0),
        pageable=states.optimizer if demand.paged else 0.0,
        unreused_share=known.unreused_share,
        step_unreused_share=known.step_unreused_share,
    )


def floor(on: Curves, tokens: float, sequence_tokens: int) -> float:
    """The floor of the peak alone."""
    kept = on.kept.at(tokens, sequence_tokens)
    live = max(on.live.at(tokens, sequence_tokens), on.encoder.at(tokens, sequence_tokens))
    turns = kept + max(on.logits.at(tokens, sequence_tokens), live + on.backward)
    return on.resident + max(on.passes + turns, on.step) - on.pageable + on.outside


def peak(on: Curves, tokens: float, sequence_tokens: int) -> Peak:
    """The peak of a micro-batch of *tokens* on the rank, in sequences of *sequence_tokens*."""
    kept = on.kept.at(tokens, sequence_tokens)
    live = max(on.live.at(tokens, sequence_tokens), on.encoder.at(tokens, sequence_tokens))
    logits = on.logits.at(tokens, sequence_tokens)
    loss = on.passes + kept + logits
    recompute = on.passes + kept + live + on.backward
    allocated = on.resident + max(loss, recompute, on.step)
    grown, other = on.growth * on.reserved_logits * logits, live + on.backward
    turns = on.passes + kept + max(grown, other) + on.unreused_share * min(grown, other)
    ended = on.step + on.step_unreused_share * (kept + grown)
    reserved = max(allocated, on.resident + max(turns, ended))
    floor = allocated - on.pageable + on.outside
    return Peak(
        on.resident, kept, logits, live, loss, recompute, on.step, allocated, reserved, reserved + on.outside, floor
    )
