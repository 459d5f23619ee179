"""Number formats of the cache: how many bytes an engine keeps for a token in each."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cardmatch.engine.models.cache import CacheKind, CacheRow
from cardmatch.engine.models.ggml import GGML_TYPES


class KvFormat(StrEnum):
    """How keys and values are stored; `auto` is what the engine would choose."""

    AUTO = "auto"
    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"
    FP8_DS_MLA = "fp8_ds_mla"
    INT8 = "int8"
    NVFP4 = "nvfp4"
    Q8_0 = "q8_0"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"
    IQ4_NL = "iq4_nl"


class KvFormats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Different formats for keys and values, as llama.cpp allows."""

    k: KvFormat
    v: KvFormat


KvCache = KvFormat | KvFormats

_BYTES: dict[KvFormat, float] = {
    KvFormat.BF16: 2,
    KvFormat.FP16: 2,
    KvFormat.FP32: 4,
    KvFormat.FP8_E4M3: 1,
    KvFormat.FP8_E5M2: 1,
    KvFormat.INT8: 1,
    KvFormat.NVFP4: 1 / 2 + 1 / 16,
    **{
        kind: GGML_TYPES[kind.value.upper()].bits / 8
        for kind in (KvFormat.Q8_0, KvFormat.Q5_1, KvFormat.Q5_0, KvFormat.Q4_1, KvFormat.Q4_0, KvFormat.IQ4_NL)
    },
}
_SCALE_BYTES = 4
_LATENT_GROUP = 128
_DEFAULT = KvFormat.BF16


def bytes_per_element(kind: KvFormat) -> float:
    """Bytes of one cached element; `auto` counts as 16 bits, `fp8_ds_mla` as 8 (its scales depend on the layer)."""
    return _BYTES.get(kind, 1 if kind is KvFormat.FP8_DS_MLA else _BYTES[_DEFAULT])


def token_bytes(row: CacheRow, cache: KvCache) -> float:
    """Bytes of one token in one layer of *row*, all heads, before tensor parallelism.

    `int8` keeps an fp32 scale per head, token and side. `fp8_ds_mla` keeps the latent in fp8 with an fp32 scale per 128
    elements and the rotary part in 16 bits (512 + 16 + 128 bytes in DeepSeek-V3.2; vLLM csrc/cache_kernels.cu).
    """
    keys, values = (cache.k, cache.v) if isinstance(cache, KvFormats) else (cache, cache)
    if keys is KvFormat.FP8_DS_MLA:
        return _latent_bytes(row)
    scales = sum(
        row.kv_heads * _SCALE_BYTES
        for kind, elements in ((keys, row.key_elements), (values, row.value_elements))
        if kind is KvFormat.INT8 and elements
    )
    return row.key_elements * bytes_per_element(keys) + row.value_elements * bytes_per_element(values) + scales


def _latent_bytes(row: CacheRow) -> float:
    if row.kind not in {CacheKind.MLA, CacheKind.INDEXER}:
        return row.elements * bytes_per_element(KvFormat.FP8_E4M3)
    rotary = row.rotary_elements
    latent = row.elements - rotary
    return latent + latent / _LATENT_GROUP * _SCALE_BYTES + rotary * bytes_per_element(_DEFAULT)
