"""The reckoning of an encoder: weights, the hypotheses' cache, the widest layer's tensors, and the process."""

from __future__ import annotations

from cardmatch.engine.memory.encode.answer import EncodePlacement
from cardmatch.engine.memory.encode.job import EncodeJob
from cardmatch.engine.memory.explain.explanation import Explanation, Rule, Source
from cardmatch.engine.memory.explain.lines import line
from cardmatch.engine.memory.explain.training_moments import measured
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.calibration import Fit
from cardmatch.engine.terms.notice import Scalar

_ALLOCATOR = Source(engine="pytorch", version="2.13", file="c10/cuda/CUDACachingAllocator.cpp")
_WEIGHTS = Source(engine="transformers", version="5.24.0", file="modeling_utils.py")
_CACHE = Source(engine="transformers", version="5.24.0", file="cache_utils.py")
_LAYER = Source(engine="paper", version="arXiv 1706.03762", file="section 3")


def explain_encode(
    job: EncodeJob,
    found: EncodePlacement,
    placement: Placement,
    context: Fit,
    as_of: str,
    *,
    elements: int,
    slack_share: float,
) -> tuple[Explanation, ...]:
    """How the figures of *found* came about; *elements* are the model's parameters, *context* the CUDA context."""
    beams, live = max(job.workload.beams or 1, 1), job.activations(job.batch, job.tokens)
    weights: dict[str, Scalar] = {"elements": elements, "bytes_each": job.weights / max(elements, 1)}
    cache: dict[str, Scalar] = {"batch": job.batch, "beams": beams, "beam_bytes": job.cache / beams}
    layer: dict[str, Scalar] = {
        "batch": job.batch,
        "tokens": job.tokens,
        "token_bytes": job.linear,
        "pair_bytes": job.square,
    }
    own = round(context.value)
    slack = found.per_gpu.overhead_bytes - own
    unused: dict[str, Scalar] = {"unreused_share": slack_share if slack else 0.0, "activations_bytes": live}
    budget: dict[str, Scalar] = {
        "memory_bytes": placement.device.memory_bytes,
        "occupied_bytes": placement.occupied_bytes,
    }
    lines = [
        line(Rule.WEIGHTS_WHOLE, job.weights, weights, _WEIGHTS),
        line(Rule.HYPOTHESES, job.batch * job.cache, cache, _CACHE),
        line(Rule.ENCODING, live, layer, _LAYER),
        line(Rule.UNREUSED_SHARE, slack, unused, _ALLOCATOR),
        line(Rule.CONTEXT, own, {"context_bytes": own}, _ALLOCATOR, measured(context, as_of)),
        line(Rule.BUDGET_FREE, found.budget_bytes, budget, _ALLOCATOR),
    ]
    return tuple([each for each in lines if each.result_bytes])
