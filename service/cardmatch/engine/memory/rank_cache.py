"""What one layer caches on one tensor rank, whatever the engine."""

from __future__ import annotations

import math

from cardmatch.engine.memory.placement import Device
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheKind, CacheRow
from cardmatch.engine.models.kv_formats import KvCache, KvFormat, token_bytes
from cardmatch.engine.models.linears import Split

INDEXER_SCALE_TOKENS = 128
_SCALE_BYTES = 4
_BLACKWELL = "10."


def rank_token_bytes(row: CacheRow, kv_cache: KvCache, tensor: int) -> int:
    """Bytes of one token in one layer on one tensor rank: ranks beyond the number of heads hold copies.

    An indexer keeps its keys in 8 bits with a scale per 128, whatever the format of the cache.
    """
    if row.kind is CacheKind.INDEXER:
        return row.key_elements + -(-row.key_elements // INDEXER_SCALE_TOKENS) * _SCALE_BYTES
    whole = token_bytes(row, kv_cache)
    if row.split is not Split.KV_HEADS or tensor == 1:
        return math.ceil(whole)
    return math.ceil(whole * max(1, row.kv_heads // tensor) / row.kv_heads)


def state_page_bytes(row: CacheRow, dtypes: StateDtypes, tensor: int, speculative_tokens: int = 0) -> int:
    """Convolution and recurrent state of one sequence in one layer of a rank; drafts widen the convolution."""
    convolution = -(-row.convolution_elements // tensor)
    if speculative_tokens and row.convolution_taps:
        convolution += convolution // row.convolution_taps * speculative_tokens
    return convolution * dtypes.convolution_bytes + -(-row.recurrent_elements // tensor) * dtypes.recurrent


def cache_format(rows: tuple[CacheRow, ...], asked: KvCache, device: Device, *, automatic: bool) -> KvCache:
    """The cache format of a model on *device*.

    Sparse models choose 8 bits by themselves on Blackwell data-centre cards, and latents beside an indexer are packed
    wherever the cache is in 8 bits. Sources: vllm v0.33.0 model_executor/models/config.py GlmMoeDsaForCausalLM,
    layers/attention/mla_attention.py; sglang v0.5.23 srt/arg_groups/overrides.py.
    """
    if not any(row.kind is CacheKind.INDEXER for row in rows):
        return asked
    eight = asked in {KvFormat.FP8_E4M3, KvFormat.FP8_E5M2}
    chosen = automatic and (device.compute_capability or "").startswith(_BLACKWELL)
    return KvFormat.FP8_DS_MLA if eight or chosen else asked
