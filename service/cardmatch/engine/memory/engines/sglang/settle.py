"""SGLang's own defaults, by card."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.memory.rank_cache import cache_format
from cardmatch.engine.models.architecture import Tower, TowerKind
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.models.kv_formats import KvCache
from cardmatch.engine.terms.units import GIB, MIB

_TIERS = (
    (20 * GIB, 2048, (8, 8)),
    (35 * GIB, 4096, (48, 160)),
    (60 * GIB, 4096, (32, 160)),
    (90 * GIB, 8192, (256, 512)),
    (160 * GIB, 8192, (256, 512)),
    (1 << 62, 16_384, (512, 512)),
)
"""Below these sizes of card: tokens of a prefill chunk, and the largest captured batch below and from TP 4."""

_META_MIB = 512
_MIB_PER_CHUNK_TOKEN = 1.5
_MIB_PER_GRAPH_REQUEST = 2
_MIB_PER_GPU = 1024 / 8
_LARGE_CARD_BYTES = 60 * GIB
_LARGE_CARD_RESERVE_MIB = 10 * 1024
_DP_MIB_PER_GRAPH_REQUEST = 3
_DP_MANY_REQUESTS = 300
_DP_MORE_MIB_PER_GRAPH_REQUEST = 1.5
_TOWER_SHARE = 0.95
_TOWER_BASELINE = 24 * 1024 * 1024
_INDEXED_PAGE_TOKENS = 64


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The options with every default filled in for one device and layout.

    `tensor` ranks share the heads of attention; `attention_copies` is how many groups of them keep caches of their own.
    """

    static_share: float
    chunk_tokens: int
    graph_requests: int
    page_tokens: int
    tensor: int
    attention_copies: int
    kv_cache: KvCache


def settle(options: Sglang, job: ServingJob, device: Device, layout: Layout) -> Settled:
    """Fill in SGLang's defaults.

    Source: sglang v0.5.23 srt/arg_groups/memory_hook.py, handle_gpu_memory_settings and adjust_mem_fraction_for_vlm.
    """
    memory = device.physical_bytes
    _, chunk, graphs = next(tier for tier in _TIERS if memory < tier[0])
    chunk = options.chunked_prefill_size or chunk
    batch = options.cuda_graph_max_bs or graphs[layout.tensor >= 4]
    if options.max_running_requests is not None and options.cuda_graph_max_bs is None:
        batch = min(batch, options.max_running_requests)
    copies = options.dp_size if options.enable_dp_attention else 1
    share = options.mem_fraction_static
    if share is None:
        share = _static_share(options, memory, layout, chunk, batch, copies)
        share *= 1 if options.language_model_only else _tower_factor(job.architecture.towers)
    indexed = any(row.kind is CacheKind.INDEXER for row in job.cache_rows)
    return Settled(
        static_share=share,
        chunk_tokens=chunk,
        graph_requests=0 if options.disable_cuda_graph else batch,
        page_tokens=options.page_size or (_INDEXED_PAGE_TOKENS if indexed else 1),
        tensor=max(1, layout.tensor // copies),
        attention_copies=copies,
        kv_cache=cache_format(job.cache_rows, job.kv_cache, device, automatic=job.automatic_cache),
    )


def _static_share(options: Sglang, memory: int, layout: Layout, chunk: int, batch: int, copies: int) -> float:
    """What is left of the card once SGLang's rule of thumb for activations and graphs is set aside."""
    reserve = _META_MIB + max(chunk, 2048) * _MIB_PER_CHUNK_TOKEN + layout.tensor * layout.pipeline * _MIB_PER_GPU
    if not options.disable_cuda_graph:
        reserve += batch * _MIB_PER_GRAPH_REQUEST
    if copies > 1:
        reserve += batch * copies * _DP_MIB_PER_GRAPH_REQUEST
        reserve += batch * copies * _DP_MORE_MIB_PER_GRAPH_REQUEST if batch > _DP_MANY_REQUESTS else 0
    if memory > _LARGE_CARD_BYTES:
        reserve = max(reserve, _LARGE_CARD_RESERVE_MIB)
    return max(0.0, round(1 - reserve * MIB / memory, 3))


def _tower_factor(towers: tuple[Tower, ...]) -> float:
    """Room for an image encoder: 5 % for a ViT-L, more for larger ones."""
    vision = next((tower for tower in towers if tower.tower is TowerKind.VISION), None)
    if vision is None:
        return 1.0
    size = (vision.layers or 24) * (vision.hidden_size or 1024) ** 2
    return _TOWER_SHARE * max(0.8, min(1.05, 1.0 - 0.1 * (size / _TOWER_BASELINE - 1.0)))
