"""What can be changed, one lever at a time: each yields trials, least change first, that may be enough alone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.elsewhere import elsewhere
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.ways.formats import cache_formats, weight_formats
from cardmatch.engine.memory.ways.trial import Request, Trial, Tried
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.models.kv_formats import KvFormat, bytes_per_element
from cardmatch.engine.terms.notice import Scalar
from cardmatch.engine.terms.units import GIB

_LENGTH_OPTION: dict[type, str] = {
    Vllm: "max_model_len",
    Sglang: "context_length",
    TensorrtLlm: "max_seq_len",
    LlamaCpp: "n_ctx",
    Ollama: "num_ctx",
    LmStudio: "context_length",
}
_CARDS = (2, 4, 8)
_ROUND_TOKENS = 256
_SHORTEST_TOKENS = 512
_SEQUENCES_STEP = 16
_LARGE_ACTIVATIONS = GIB
_UTILIZATION = 0.95
_MARGIN = 0.97
"""Bounds that only decide what is tried are kept this much below what must be saved."""


def lighter_weights(request: Request, base: Tried, missing: int) -> Iterator[Trial]:
    """Weights in fewer bits, from the largest format that can save *missing* bytes a GPU; only of 16-bit models."""
    trial = base.trial
    if trial.job.checkpoint.format not in DTYPE_BITS:
        return
    whole = trial.job.sums.total
    each = base.reservation.weights.expected_bytes
    for name in weight_formats(trial.engine, trial.where.device):
        lighter = request.in_format(trial.job, name)
        if whole and each * (1 - lighter.sums.total / whole) >= missing * _MARGIN:
            change = Change(pointer="/workload/weights", value=name)
            yield trial.also(change, checkpoint=lighter.checkpoint, sums=lighter.sums)


def lighter_cache(base: Tried, missing: int) -> Iterator[Trial]:
    """The cache in fewer bits, where that can save *missing* bytes a GPU."""
    trial, held = base.trial, base.placed.per_gpu.kv_cache_bytes
    if not isinstance(trial.job.kv_cache, KvFormat):
        return
    own = bytes_per_element(trial.job.kv_cache)
    for name in cache_formats(trial.engine, trial.where.device):
        share = 1 - bytes_per_element(name) / own
        if share > 0 and held * share >= missing * _MARGIN:
            change = Change(pointer="/workload/kv_cache", value=name.value)
            yield trial.also(change, kv_cache=name, automatic_cache=False)


def lightest(request: Request, base: Tried) -> Tried:
    """*base* in the lightest weights and cache; its figures are still those of *base*."""
    for trial in list(lighter_weights(request, base, 0))[-1:]:
        base = msgspec.structs.replace(base, trial=trial)
    for trial in list(lighter_cache(base, 0))[-1:]:
        base = msgspec.structs.replace(base, trial=trial)
    return base


def holds_weights(base: Tried, trial: Trial, times: int = 1) -> bool:
    """Whether the weights of *trial* can lie on *times* as many of its GPUs, by what *base* says of their share."""
    here, there = base.trial.where, trial.where
    whole = trial.job.sums.total / (there.layout.tensor * there.layout.pipeline * times)
    share = base.placed.budget_bytes / max(here.device.memory_bytes, 1)
    return whole <= there.device.memory_bytes * share


def fewer_requests(base: Tried) -> Iterator[Trial]:
    """As many requests at once as fit even at the high end of every band."""
    trial, reservation = base.trial, base.reservation
    free = _free_bytes(base)
    each = reservation.cache.request_bytes(reservation.longest_tokens)
    if free < each or trial.job.concurrency < 2:
        return
    first = reservation.cache.request_bytes(trial.job.mean_tokens)
    further = reservation.cache.further_bytes(trial.job.mean_tokens, trial.job.shared_prefix_tokens)
    fitting = 1 + (free - first) // further if further else reservation.most_requests
    number = min(fitting, reservation.most_requests) * trial.where.layout.data * reservation.copies
    if 0 < number < trial.job.concurrency:
        yield trial.also(Change(pointer="/workload/concurrency", value=number), concurrency=number)


def shorter_requests(base: Tried) -> Iterator[Trial]:
    """Requests as long as all of them can be, in round numbers of tokens; an engine's own limit goes with them."""
    trial, reservation = base.trial, base.reservation
    copies = trial.where.layout.data * reservation.copies
    share = _free_bytes(base) // -(-trial.job.concurrency // copies)
    longest = max(trial.job.context_tokens, reservation.longest_tokens)
    tokens = reservation.cache.max_tokens(share, longest - 1) // _ROUND_TOKENS * _ROUND_TOKENS
    if tokens < _SHORTEST_TOKENS or tokens >= longest:
        return
    changes = [Change(pointer="/workload/context_tokens", value=tokens)] if tokens < trial.job.context_tokens else []
    option = _LENGTH_OPTION.get(type(trial.engine))
    engine = trial.engine
    own = isinstance(engine, Ollama) and engine.num_ctx_by_memory
    if option is not None and (own or (getattr(engine, option) or 0) > tokens):
        changes.append(Change(pointer=f"/workload/engine/{option}", value=tokens))
        engine = msgspec.structs.replace(engine, **{option: tokens})
    if changes:
        context, mean = min(trial.job.context_tokens, tokens), min(trial.job.mean_tokens, tokens)
        yield msgspec.structs.replace(trial.also(*changes, context_tokens=context, mean_tokens=mean), engine=engine)


def leaner_engine(base: Tried, missing: int) -> Iterator[Trial]:
    """Fewer requests profiled for, or a larger share of the card: vLLM's own remedies."""
    trial, engine = base.trial, base.trial.engine
    if not isinstance(engine, Vllm) or engine.kv_cache_memory_bytes is not None:
        return
    wanted = -(-trial.job.concurrency // _SEQUENCES_STEP) * _SEQUENCES_STEP
    if wanted < base.reservation.most_requests and base.reservation.activations.expected_bytes > _LARGE_ACTIVATIONS:
        yield _with_option(trial, "max_num_seqs", wanted)
    device = trial.where.device.memory_bytes
    more = int(device * _UTILIZATION) - base.where.occupied_bytes - base.reservation.budget_bytes
    if more >= missing * _MARGIN and base.where.occupied_bytes <= device * (1 - _UTILIZATION):
        yield _with_option(trial, "gpu_memory_utilization", _UTILIZATION)


def more_cards(base: Tried, index: int) -> Iterator[Trial]:
    """More of the same card by tensor parallelism, from the fewest that could hold what one lacks."""
    total, budget = base.placed.per_gpu.total.high_bytes, base.placed.budget_bytes
    for trial in all_more_cards(base, index):
        if total * base.trial.where.layout.gpus / trial.where.layout.gpus <= budget:
            yield trial


def all_more_cards(base: Tried, index: int) -> Iterator[Trial]:
    """Two, four and eight times as many of the same card, as far as the heads divide."""
    where = base.trial.where
    if where.device.mig is not None:
        return
    for times in _CARDS:
        tensor = where.layout.tensor * times
        if not _divides(base.trial, tensor):
            continue
        layout = msgspec.structs.replace(where.layout, tensor=tensor)
        changed = msgspec.structs.replace(where, layout=layout, count=layout.gpus)
        changes = [Change(pointer=f"/cards/{index}/count", value=layout.gpus)]
        if where.layout_given or where.layout != Layout(tensor=where.count):
            changes.append(Change(pointer=f"/cards/{index}/layout/tensor", value=tensor))
        yield msgspec.structs.replace(base.trial.also(*changes), where=changed)


def other_cards(request: Request, base: Tried, index: int) -> Iterator[Trial]:
    """The smallest other card whose memory can hold what this one lacks."""
    share = base.placed.budget_bytes / max(base.trial.where.device.memory_bytes, 1)
    for trial in all_other_cards(request, base, index):
        if trial.where.device.memory_bytes * share >= base.placed.per_gpu.total.expected_bytes * _MARGIN:
            yield trial


def all_other_cards(request: Request, base: Tried, index: int) -> Iterator[Trial]:
    """Every larger card, smallest first."""
    for where, changes in elsewhere(base.trial.where, index, request.alternatives):
        yield msgspec.structs.replace(base.trial.also(*changes), where=where)


def larger_machines(request: Request, base: Tried, index: int) -> list[Trial]:
    """Several of a larger card in one machine, least memory in all first, where they can hold the weights."""
    cards = all_other_cards(request, base, index)
    several = [
        each
        for card in cards
        for each in all_more_cards(msgspec.structs.replace(base, trial=card), index)
        if each.where.count <= _CARDS[-1] and holds_weights(base, each)
    ]
    return sorted(several, key=lambda each: each.where.device.memory_bytes * each.where.count)


def _with_option(trial: Trial, option: str, value: Scalar) -> Trial:
    engine = msgspec.structs.replace(trial.engine, **{option: value})
    changed = trial.also(Change(pointer=f"/workload/engine/{option}", value=value))
    return msgspec.structs.replace(changed, engine=engine)


def _divides(trial: Trial, tensor: int) -> bool:
    heads = (
        getattr(block, "query_heads", getattr(block, "heads", 0))
        for group in trial.job.architecture.layer_groups
        for block in group.blocks
    )
    return all(number % tensor == 0 for number in heads)


def _free_bytes(base: Tried) -> int:
    """What every pool leaves for cache at the high end of all bands."""
    noise = base.reservation.noise_high_bytes
    return min(
        (pool.budget_bytes - pool.fixed_high_bytes - noise for pool in base.reservation.pools if pool.holds_cache),
        default=0,
    )
