"""What Ollama chooses by itself: slots by the model, the length by the GPUs' memory, batches by length and room.

Sources: ollama v0.32.15 server/routes.go (the length), server/sched.go (slots and batches), llm/llama_server.go
(PredictServerVRAM).
"""

from __future__ import annotations

from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention
from cardmatch.engine.memory.engines.ollama.options import Ollama, version_of
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.architecture import Attention, LatentAttention
from cardmatch.engine.terms.units import GIB, MIB

_SERVER_SINCE = (0, 30)
_BY_MEMORY_SINCE = (0, 15, 5)
_LENGTHS = ((47 * GIB, 262_144), (23 * GIB, 32_768), (0, 4_096))
_LENGTH_BEFORE = 4_096
_BATCHES = ((32_768, 2_048), (4_096, 1_024), (-1, 512))
"""Micro-batches where the context is longer than so many tokens."""

_ROOM = {2_048: (0.60, 2 * GIB), 1_024: (0.75, 768 * MIB)}
"""The largest share of free memory that the model may take for a micro-batch, and what it counts for itself."""

_MOST_SHARE = 0.80
_SMALL_GPU, _CONSTRAINED_BATCH = 8 * GIB, 256
_BATCH_BEFORE = 512
_ONE_SLOT = frozenset(
    {"mllama", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "qwen3_next", "lfm2", "lfm2_moe", "nemotron_h"}
)
_MOST_SLOTS = 256


def served(options: Ollama) -> bool:
    """Whether this version starts a llama-server."""
    return version_of(options) >= _SERVER_SINCE


def slots_of(options: Ollama, job: ServingJob) -> int:
    """Requests at once: as set, else as many as are asked; one for models that Ollama takes one at a time."""
    if job.architecture.family in _ONE_SLOT:
        return 1
    return options.num_parallel or min(job.concurrency, _MOST_SLOTS)


def length_of(options: Ollama, job: ServingJob, placement: Placement) -> int | None:
    """Tokens of one request's cache, at most the model's own; None: what the workload asks for."""
    length = options.num_ctx
    if length is None and options.num_ctx_by_memory:
        whole = (placement.device.memory_bytes - options.gpu_overhead_bytes) * placement.count
        length = next(tokens for least, tokens in _LENGTHS if whole >= least or not least)
        length = length if version_of(options) >= _BY_MEMORY_SINCE else _LENGTH_BEFORE
    limit = job.architecture.maximum_context_tokens
    return min(length, limit) if length and limit else length


def batch_of(options: Ollama, job: ServingJob, placement: Placement, context: int) -> int:
    """Tokens of one micro-batch for *context* tokens in all: as set, else as large as the room that is left allows."""
    if options.num_batch is not None:
        return options.num_batch
    if not served(options):
        return _BATCH_BEFORE
    free = placement.device.memory_bytes - placement.occupied_bytes
    if options.flash_attention is FlashAttention.OFF:
        constrained = context > _BATCHES[1][0] and free <= _SMALL_GPU
        return _CONSTRAINED_BATCH if constrained else _BATCH_BEFORE
    available = free * placement.count
    predicted = job.sums.total + _guessed_cache_bytes(job, context)
    for longer_than, batch in _BATCHES:
        if context > longer_than and _has_room(batch, predicted, available):
            return batch
    return _BATCH_BEFORE


def _has_room(batch: int, predicted: int, available: int) -> bool:
    if batch not in _ROOM:
        return True
    share, own = _ROOM[batch]
    return predicted <= available * share and predicted + own <= available * _MOST_SHARE


def _guessed_cache_bytes(job: ServingJob, context: int) -> int:
    """Ollama's own guess before a load: every layer caches f16 keys and values of the fewest heads."""
    blocks = [block for group in job.architecture.layer_groups for block in group.blocks]
    queries = [block.query_heads for block in blocks if isinstance(block, Attention)]
    queries += [block.heads for block in blocks if isinstance(block, LatentAttention)]
    keys = min((block.kv_heads for block in blocks if isinstance(block, Attention)), default=1)
    size = job.architecture.hidden_size // max(queries, default=job.architecture.hidden_size)
    return 2 * len(job.architecture.layer_order) * keys * size * context * 2
