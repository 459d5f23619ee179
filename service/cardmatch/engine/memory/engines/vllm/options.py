"""The options of vLLM that decide what it reserves, and their defaults by version and card.

Sources: vllm v0.33.0 engine/arg_utils.py (batch defaults by device memory and name), config/cache.py (utilisation 0.92
since 0.21, 0.90 before; block size 16), v1/worker/gpu_worker.py (budget).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.placement import Device
from cardmatch.engine.terms.units import GIB, Bytes, Count, Tokens

CURRENT_VERSION = "0.33.0"
Version = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,4})?$(?!\n)", examples=["0.33.0"])]


class Vllm(msgspec.Struct, tag="vllm", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """vLLM, at its own defaults where nothing is said."""

    version: Version = CURRENT_VERSION
    gpu_memory_utilization: Annotated[float, Meta(gt=0, le=1)] | None = None
    max_model_len: Tokens | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Annotated[int, Meta(ge=1, le=1_048_576)] | None = None
    block_size: Annotated[int, Meta(ge=1, le=1024)] | None = None
    enforce_eager: bool = False
    kv_cache_memory_bytes: Bytes | None = None


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The options with every default filled in for one device."""

    utilization: float
    max_num_seqs: int
    max_num_batched_tokens: int
    block_size: int


_LARGE_BYTES = 160 * GIB
_SERVER_BYTES = 70 * GIB


def version_of(text: str) -> tuple[int, int]:
    """Major and minor of a version."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def settle(options: Vllm, device: Device) -> Settled:
    """Fill in vLLM's own defaults for *device*."""
    if device.memory_bytes >= _LARGE_BYTES:
        tokens, requests = 16_384, 1024
    elif device.memory_bytes >= _SERVER_BYTES and "a100" not in (device.card or ""):
        tokens, requests = 8192, 1024
    else:
        tokens, requests = 2048, 256
    utilization = 0.92 if version_of(options.version) >= (0, 21) else 0.90
    return Settled(
        utilization=options.gpu_memory_utilization or utilization,
        max_num_seqs=options.max_num_seqs or requests,
        max_num_batched_tokens=options.max_num_batched_tokens or tokens,
        block_size=options.block_size or 16,
    )
