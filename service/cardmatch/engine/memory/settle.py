"""From the workload as asked to the job with every default filled in, and the list of what was assumed."""

from __future__ import annotations

from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN
from cardmatch.engine.memory.inference import DEFAULT_ENGINE, Inference
from cardmatch.engine.memory.job import ServingJob, Spread
from cardmatch.engine.memory.weights import WeightSums, weight_sums
from cardmatch.engine.memory.widths import widths
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.checkpoint import Checkpoint, requantised
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.kv_formats import KvCache, KvFormat
from cardmatch.engine.models.parameters import layer_counts
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Scalar

DEFAULT_CONTEXT_TOKENS = 8192


def settle(
    workload: Inference,
    architecture: Architecture,
    checkpoint: Checkpoint,
    spread: Spread | None = None,
) -> tuple[ServingJob, tuple[Assumption, ...]]:
    """The job that *workload* means for a model, and what was assumed. Raises Invalid with pointers into /workload."""
    assumed: dict[str, Scalar] = {}
    if workload.engine is DEFAULT_ENGINE:
        assumed["engine"] = str(DEFAULT_ENGINE.__struct_config__.tag)
    context, concurrency, mean = _lengths(workload, architecture, assumed)
    stored = requantised(architecture, checkpoint, workload.weights)
    if workload.weights == "as_published":
        assumed["weights"] = stored.format
    cache = _cache_format(workload, stored)
    if workload.kv_cache is KvFormat.AUTO and isinstance(cache, KvFormat):
        assumed["kv_cache"] = cache.value
    job = ServingJob(
        architecture=architecture,
        checkpoint=stored,
        sums=weights_of(architecture, stored),
        widths=widths(architecture),
        cache_rows=by_layer(architecture),
        kv_cache=cache,
        automatic_cache=workload.kv_cache is KvFormat.AUTO,
        context_tokens=context,
        concurrency=concurrency,
        mean_tokens=mean,
        shared_prefix_tokens=workload.shared_prefix_tokens,
        speculative=workload.speculative,
        adapters=workload.adapters,
        longest_possible_tokens=max(context, architecture.maximum_context_tokens or context),
        basis=Basis.EXACT if spread is None else Basis.RULE_OF_THUMB,
        spread=spread,
    )
    return job, tuple(Assumption(pointer=f"/workload/{name}", value=value) for name, value in assumed.items())


def _lengths(workload: Inference, architecture: Architecture, assumed: dict[str, Scalar]) -> tuple[int, int, int]:
    """Longest request, concurrency and mean length; what was left out is noted in *assumed*."""
    context = workload.context_tokens
    if context is None:
        limit = architecture.maximum_context_tokens
        context = min(DEFAULT_CONTEXT_TOKENS, limit) if limit else DEFAULT_CONTEXT_TOKENS
        assumed["context_tokens"] = context
    concurrency = workload.concurrency
    if concurrency is None:
        concurrency = 1
        assumed["concurrency"] = concurrency
    mean = workload.mean_tokens_per_request
    if mean is None:
        mean = context
        assumed["mean_tokens_per_request"] = mean
    _check_lengths(workload, context, mean)
    return context, concurrency, mean


def weights_of(architecture: Architecture, checkpoint: Checkpoint) -> WeightSums:
    """The weights of *architecture* as *checkpoint* stores them."""
    found = parts(architecture, checkpoint)
    return weight_sums(found, layer_counts(architecture), tied=architecture.tied_embeddings)


def _check_lengths(workload: Inference, context: int, mean: int) -> None:
    if mean > context:
        raise Invalid(
            Fault(
                code=FaultCode.MEAN_BEYOND_CONTEXT,
                pointer="/workload/mean_tokens_per_request",
                params={"mean_tokens": mean, "context_tokens": context},
            )
        )
    if workload.shared_prefix_tokens > mean:
        raise Invalid(
            Fault(
                code=FaultCode.PREFIX_BEYOND_REQUEST,
                pointer="/workload/shared_prefix_tokens",
                params={"prefix_tokens": workload.shared_prefix_tokens, "mean_tokens": mean},
            )
        )


def _cache_format(workload: Inference, checkpoint: Checkpoint) -> KvCache:
    """`auto` is what the checkpoint declares, else its 16-bit type; fp32 checkpoints are served in 16 bits.

    llama.cpp and its kin take F16 whatever the file says.
    """
    if workload.kv_cache is not KvFormat.AUTO:
        return workload.kv_cache
    if isinstance(workload.engine, LLAMA_CPP_KIN):
        return KvFormat.FP16
    if checkpoint.kv_cache is not None:
        return checkpoint.kv_cache
    return KvFormat.FP16 if checkpoint.base is Dtype.FP16 else KvFormat.BF16
