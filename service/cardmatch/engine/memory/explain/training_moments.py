"""The lines of a training step's activations and loss, and of what the process holds beside them."""

from __future__ import annotations

from cardmatch.engine.memory.explain.explanation import Explanation, FittedOn, Rule, Source
from cardmatch.engine.memory.explain.lines import line
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.calibration import Fit, TrainingCalibration
from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.peak import Moment, Peak
from cardmatch.engine.memory.training.tried import Tried
from cardmatch.engine.terms.notice import Scalar

_ALLOCATOR = Source(engine="pytorch", version="2.13", file="c10/cuda/CUDACachingAllocator.cpp")
_ACTIVATIONS = Source(engine="paper", version="arXiv 2205.05198", file="section 4")
_LOSS = Source(engine="pytorch", version="2.13", file="torch/nn/functional.py")


def measured(fit: Fit, as_of: str) -> FittedOn:
    """What *fit* was measured on."""
    return FittedOn(rows=fit.cases, as_of=as_of)


def activation_lines(tried: Tried, calibration: TrainingCalibration) -> list[Explanation]:
    """What autograd keeps, and the logits or the layer that is recomputed; the optimizer's step has neither."""
    if tried.top.moment is Moment.STEP:
        return []
    demand, size = tried.fullest, tried.top
    eager = demand.eager and not demand.recomputes
    factor = calibration.eager_factor.value if eager else 1.0
    fitted = measured(calibration.eager_factor, calibration.as_of) if eager else None
    sizes = (demand.kept_per_token, demand.kept_scores, demand.sourced.kept)
    lines = _growing(tried, (Rule.KEPT_ACTIVATIONS, Rule.KEPT_OF_SOURCE), factor, sizes, fitted)
    if size.moment is Moment.LOSS:
        return lines + _loss(tried, calibration)
    sharded = calibration.sharded_live_factor.value if demand.sharded else 1.0
    factor = calibration.live_factor.value * sharded
    fitted = measured(calibration.live_factor, calibration.as_of)
    return lines + _growing(tried, (Rule.LIVE_LAYER, Rule.LIVE_OF_SOURCE), factor, _live(tried), fitted)


def _live(tried: Tried) -> tuple[float, float, float]:
    """Of the decoder's layer and the encoder's the one that holds more."""
    on, at = tried.curves, (tried.tokens, tried.job.sequence_tokens)
    demand = tried.fullest
    if on.encoder.at(*at) > on.live.at(*at):
        return 0.0, 0.0, demand.sourced.encoder
    return demand.live_per_token, demand.live_scores, demand.sourced.live


def _growing(
    tried: Tried,
    rules: tuple[Rule, Rule],
    factor: float,
    sizes: tuple[float, float, float],
    fitted: FittedOn | None,
) -> list[Explanation]:
    """What grows with tokens, and with sequences: *sizes* are bytes per token, per pair of tokens, per sequence."""
    token_bytes, pair_bytes, sequence_bytes = sizes
    length, tokens = tried.job.sequence_tokens, tried.tokens
    numbers: dict[str, Scalar] = {
        "factor": factor,
        "token_bytes": token_bytes,
        "pair_bytes": pair_bytes,
        "sequence_tokens": length,
        "tokens": tokens,
    }
    sequences: dict[str, Scalar] = {
        "factor": factor,
        "sequence_bytes": sequence_bytes,
        "sequence_tokens": length,
        "tokens": tokens,
    }
    size = factor * (token_bytes + pair_bytes * length) * tokens
    return [
        line(rules[0], size, numbers, _ACTIVATIONS, fitted),
        line(rules[1], factor * sequence_bytes * tokens / length, sequences, _ACTIVATIONS, fitted),
    ]


def _loss(tried: Tried, calibration: TrainingCalibration) -> list[Explanation]:
    demand, tokens = tried.fullest, tried.tokens
    eager = demand.cross_entropy is CrossEntropy.EAGER
    fit = calibration.eager_logit_bytes if eager else calibration.kernel_logit_bytes
    logits: dict[str, Scalar] = {
        "bytes_each": fit.value,
        "vocabulary_size": demand.logits_per_token,
        "tokens": tokens,
    }
    fused: dict[str, Scalar] = {
        "token_bytes": demand.loss_per_token,
        "tokens": tokens,
        "fixed_bytes": demand.loss_fixed,
    }
    whole = fit.value * demand.logits_per_token * tokens
    made = measured(fit, calibration.as_of)
    return [
        line(Rule.LOGITS, whole, logits, _LOSS, made),
        line(Rule.FUSED_LOSS, demand.loss_per_token * tokens + demand.loss_fixed, fused, _LOSS),
    ]


def overhead_lines(tried: Tried, found: TrainingPlacement, calibration: TrainingCalibration) -> list[Explanation]:
    """Blocks that the allocator cannot use again, the CUDA context, and NCCL's buffers."""
    context, rank = calibration.context_bytes, calibration.rank_bytes
    outside = [line(Rule.CONTEXT, context.value, {"context_bytes": context.value}, _ALLOCATOR,
                    measured(context, calibration.as_of))]  # fmt: skip
    if tried.fullest.several:
        numbers: dict[str, Scalar] = {"rank_bytes": rank.value}
        outside.append(line(Rule.COMMUNICATION, rank.value, numbers, _ALLOCATOR, measured(rank, calibration.as_of)))
    squeezed = found.per_gpu.total.expected_bytes < round(tried.top.process)
    slack = _left(found, tried) if squeezed else _unreused(tried, tried.top, calibration)
    return [slack, *outside]


def _left(found: TrainingPlacement, tried: Tried) -> Explanation:
    """What the allocator keeps of its slack where it must give some back."""
    left = found.per_gpu.overhead_bytes - round(tried.curves.outside)
    numbers: dict[str, Scalar] = {"budget_bytes": found.budget_bytes, "needed_bytes": found.budget_bytes - left}
    return line(Rule.SLACK_LEFT, left, numbers, _ALLOCATOR)


def _unreused(tried: Tried, top: Peak, calibration: TrainingCalibration) -> Explanation:
    on = tried.curves
    numbers: dict[str, Scalar] = {
        "base_bytes": top.resident + on.passes + top.kept,
        "loss_bytes": on.growth * on.reserved_logits * top.logits,
        "recompute_bytes": top.live + on.backward,
        "unreused_share": on.unreused_share,
        "step_bytes": top.resident + on.step,
        "step_unreused_share": on.step_unreused_share,
        "kept_bytes": top.kept,
        "peak_bytes": top.allocated,
    }
    fitted = measured(calibration.unreused_share, calibration.as_of)
    return line(Rule.UNREUSED_BLOCKS, top.reserved - top.allocated, numbers, _ALLOCATOR, fitted)
