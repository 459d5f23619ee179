"""Every buffer that llama.cpp allocates at start-up for one job, GPU by GPU and in RAM."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.cache import Caches, caches
from cardmatch.engine.memory.engines.llama_cpp.compute import Work, compute_bytes, fetches, host_compute_bytes
from cardmatch.engine.memory.engines.llama_cpp.graph import Graph, graph_of
from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention, LlamaCpp, SplitMode
from cardmatch.engine.memory.engines.llama_cpp.settled import Settled
from cardmatch.engine.memory.engines.llama_cpp.spread import Spread
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.kv_formats import KvFormats, bytes_per_element, token_bytes
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.parts import Stage

_F16 = 2
_F32 = 4
_WARM_UP_PATCHES = 8464  # a picture of 1472 × 1472 pixels in patches of 16, tools/mtmd's warm-up


class GpuBuffers(msgspec.Struct, frozen=True, kw_only=True):
    """What lies on one GPU."""

    model_bytes: int
    caches: Caches
    compute_bytes: int
    projector_bytes: int = 0
    draft_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All of it."""
        extra = self.projector_bytes + self.draft_bytes
        return self.model_bytes + self.caches.total_bytes + self.compute_bytes + extra


class Buffers(msgspec.Struct, frozen=True, kw_only=True):
    """What lies on each GPU and in RAM."""

    gpus: tuple[GpuBuffers, ...]
    host_model_bytes: int
    host_caches: Caches
    host_compute_bytes: int
    output_bytes: int

    @property
    def host_bytes(self) -> int:
        """RAM in all."""
        buffers = self.host_compute_bytes + self.output_bytes
        return self.host_model_bytes + self.host_caches.total_bytes + buffers


def buffers(job: ServingJob, options: LlamaCpp, settled: Settled, spread: Spread) -> Buffers:
    """All buffers of *job*."""
    architecture = job.architecture
    graph = graph_of(architecture, settled.mla)
    works = tuple(work_of(job, options, settled, spread, gpu) for gpu in range(len(spread.gpu_bytes)))
    last = len(works) - 1 if spread.output_gpu is None else spread.output_gpu
    projector = _projector_bytes(job, spread) if options.mmproj else 0
    gpus = tuple(
        GpuBuffers(
            model_bytes=model,
            caches=caches(architecture, layers, job.kv_cache, settled),
            compute_bytes=compute_bytes(graph, settled, work),
            projector_bytes=projector if gpu == 0 else 0,
            draft_bytes=_draft_bytes(job, spread, graph, settled, work) if options.draft and gpu == last else 0,
        )
        for gpu, (model, layers, work) in enumerate(zip(spread.gpu_bytes, spread.gpu_layers, works, strict=True))
    )
    return Buffers(
        gpus=gpus,
        host_model_bytes=spread.host_bytes,
        host_caches=caches(architecture, spread.host_layers, job.kv_cache, settled),
        host_compute_bytes=host_compute_bytes(graph, settled, works[0]),
        output_bytes=settled.slots * architecture.vocabulary_size * _F32,
    )


def work_of(job: ServingJob, options: LlamaCpp, settled: Settled, spread: Spread, gpu: int) -> Work:
    """What the GPU at position *gpu* computes beside the graph itself."""
    formats = job.kv_cache if isinstance(job.kv_cache, KvFormats) else KvFormats(k=job.kv_cache, v=job.kv_cache)
    held = len(spread.gpu_bytes)
    alone = not spread.offloaded and not options.override_tensors
    return Work(
        pipelined=held > 1 and alone and options.split_mode is SplitMode.LAYER and not settled.fork,
        fetched_bytes=_fetched(options, settled, spread),
        fetched_output_bytes=_fetched_output(options, settled, spread),
        output=spread.output_gpu == gpu or (spread.output_gpu is None and settled.fork),
        quantised_cache=min(bytes_per_element(formats.k), bytes_per_element(formats.v)) < _F16,
        values_copied=options.flash_attention is FlashAttention.AUTO and settled.era.flash_attention_auto,
        mask_kept=spread.offloaded,
    )


def _fetched(options: LlamaCpp, settled: Settled, spread: Spread) -> int:
    """The largest matrix in RAM, which large batches copy to the GPU: one of three of a layer's, or of its experts'.

    The fork computes experts where they lie.
    """
    if not options.op_offload or not fetches(settled) or not spread.offloaded:
        return 0
    largest = 0.0
    for part in spread.weights:
        if part.stage is not Stage.LAYERS or part.kind not in {PartKind.DENSE, PartKind.EXPERTS}:
            continue
        in_ram = spread.host_layers if part.kind is PartKind.DENSE else spread.host_layers or spread.host_expert_layers
        if in_ram and not (part.kind is PartKind.EXPERTS and settled.fork):
            largest = max(largest, part.bytes / part.layers / 3)
    return int(largest)


def _fetched_output(options: LlamaCpp, settled: Settled, spread: Spread) -> int:
    """The output matrix where it lies in RAM: the fork copies it to the GPU, mainline multiplies it where it is."""
    if spread.output_gpu is not None or not (settled.fork and options.op_offload and fetches(settled)):
        return 0
    return max((part.bytes for part in spread.weights if part.kind in {PartKind.HEAD, PartKind.EMBEDDING}), default=0)


def _projector_bytes(job: ServingJob, spread: Spread) -> int:
    """Weights of the towers and the graph of one large picture: the widest feed-forward and three streams."""
    held = sum(part.bytes for part in spread.weights if part.kind is PartKind.TOWER)
    graph = 0
    for tower in job.architecture.towers:
        if tower.hidden_size and tower.width:
            patches = tower.patch_tokens or _WARM_UP_PATCHES
            graph = max(graph, patches * (tower.width + 3 * tower.hidden_size) * _F32)
    return held + graph


def _draft_bytes(job: ServingJob, spread: Spread, graph: Graph, settled: Settled, work: Work) -> int:
    """The drafting context: weights and a cache of its own for its layers, and a compute buffer."""
    weights = sum(part.bytes for part in spread.weights if part.kind is PartKind.MTP)
    rows = by_layer(job.architecture, (), next_token=True)
    cache = sum(token_bytes(row, job.kv_cache) * row.layers * settled.n_ctx for row in rows)
    return weights + math.ceil(cache) + compute_bytes(graph, settled, work)
