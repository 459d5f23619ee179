"""From the workload as asked to the job with every default filled in, and the list of what was assumed."""

from __future__ import annotations

from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN
from cardmatch.engine.memory.inference import DEFAULT_ENGINE, Inference
from cardmatch.engine.memory.job import ServingJob, Spread
from cardmatch.engine.memory.profile import profile, stored_as
from cardmatch.engine.memory.supported import check_formats
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.kv_formats import KvCache, KvFormat, KvFormats
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Scalar

DEFAULT_CONTEXT_TOKENS = 8192


def settle(
    workload: Inference,
    architecture: Architecture,
    checkpoint: Checkpoint,
    spread: Spread | None = None,
    *,
    checked: bool = True,
) -> tuple[ServingJob, tuple[Assumption, ...]]:
    """The job that *workload* means for a model, and what was assumed. Raises Invalid with pointers into /workload.

    Where not *checked*, the engine may have formats that it does not load: rows that measure what follows from others.
    """
    assumed: dict[str, Scalar] = {}
    if workload.engine is DEFAULT_ENGINE:
        assumed["engine"] = str(DEFAULT_ENGINE.__struct_config__.tag)
    context, concurrency, mean = _lengths(workload, architecture, assumed)
    stored = _stored(workload, architecture, checkpoint)
    if workload.weights == "as_published":
        assumed["weights"] = stored.format
    cache = _cache_format(workload, stored)
    if workload.kv_cache is KvFormat.AUTO and isinstance(cache, KvFormat):
        assumed["kv_cache"] = cache.value
    known = profile(architecture, stored)
    if checked:
        check_formats(workload.engine, stored.format, workload.kv_cache, known.cache_rows)
    job = ServingJob(
        architecture=architecture,
        checkpoint=stored,
        sums=known.sums,
        widths=known.widths,
        cache_rows=known.cache_rows,
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


def _stored(workload: Inference, architecture: Architecture, checkpoint: Checkpoint) -> Checkpoint:
    try:
        return stored_as(architecture, checkpoint, workload.weights)
    except Invalid as wrong:
        raise wrong.under("/workload/weights") from None


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
    asked = workload.kv_cache
    if isinstance(asked, KvFormats) and asked.k is asked.v and asked.k is not KvFormat.AUTO:
        return asked.k
    if asked is not KvFormat.AUTO:
        return asked
    if isinstance(workload.engine, LLAMA_CPP_KIN):
        return KvFormat.FP16
    if checkpoint.kv_cache is not None:
        return checkpoint.kv_cache
    return KvFormat.FP16 if checkpoint.base is Dtype.FP16 else KvFormat.BF16
