"""What changed between vLLM's versions, as far as memory goes."""

from __future__ import annotations

import functools
from enum import StrEnum

import msgspec

from cardmatch.engine.memory.engines.versions import version_of


class Sampler(StrEnum):
    """How the profiling run samples: `sorted` ranks the whole vocabulary of every request."""

    SORTED = "sorted"
    FUSED = "fused"


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one version.

    `v1` has the V1 engine. `utilization` is the default share of the card. `graphs_in_budget` takes captured graphs
    off the cache. `tokens_from_concurrency` prints tokens as concurrency × length; before, blocks were divided by the
    number of groups. `flight_batches` is how many batches a window must outlast while steps overlap.
    `groups_layers` manages windows as such, `groups_chunked` chunks too; otherwise they are charged at full length.
    `pads_short_groups` grows groups of layers to the larger kind where the kinds differ by less than half.
    `aligns_states` keeps recurrent states at block boundaries by default. `huge_batches` is the tier of 160 GiB cards.
    `whole_indexer_logits` scores every token of a batch against the longest request at once.
    `reads_state_dtype` takes the format of recurrent states that a configuration names.
    `asks_first` refuses to start unless the whole share is free.
    `packs_compressed` lays the pages of compressed attention side by side without gaps.
    """

    v1: bool
    utilization: float
    graphs_in_budget: bool
    tokens_from_concurrency: bool
    flight_batches: int
    groups_layers: bool
    groups_chunked: bool
    pads_short_groups: bool
    aligns_states: bool
    huge_batches: bool
    whole_indexer_logits: bool
    packs_compressed: bool
    reads_state_dtype: bool
    asks_first: bool
    sampler: Sampler


@functools.lru_cache(maxsize=256)
def era_of(version: str) -> Era:
    """The rules of *version*.

    Sources: vllm v0.33.0 and v0.11.0: config/cache.py (utilisation), v1/worker/gpu_worker.py (“default since v0.21.0”),
    v1/core/kv_cache_utils.py (printed tokens; vllm#40691, changed in 0.21 by vllm#40384), config/vllm.py
    max_in_flight_tokens (vllm#47728, in 0.26), v1/sample/ops/topk_topp_sampler.py (the vocabulary was sorted until
    the Triton kernel of 0.16), v1/engine (V1 is the default since 0.8).
    """
    at = version_of(version)
    return Era(
        v1=at >= (0, 8),
        utilization=0.92 if at >= (0, 21) else 0.90,
        graphs_in_budget=at >= (0, 21),
        tokens_from_concurrency=at >= (0, 21),
        flight_batches=2 if at >= (0, 26) else 1,
        groups_layers=at >= (0, 9),
        groups_chunked=at >= (0, 12),
        pads_short_groups=at >= (0, 12),
        aligns_states=at >= (0, 21),
        whole_indexer_logits=at < (0, 21),
        packs_compressed=at >= (0, 28),
        reads_state_dtype=at >= (0, 15),
        asks_first=at >= (0, 9),
        huge_batches=at >= (0, 21),
        sampler=Sampler.FUSED if at >= (0, 16) else Sampler.SORTED,
    )
