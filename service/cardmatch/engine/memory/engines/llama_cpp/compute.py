"""The compute buffers that llama.cpp reserves: the largest stage of its graph for one micro-batch.

Sources: src/llama-context.cpp (graph_reserve), src/llama-graph.cpp, ggml/src/ggml-backend.cpp (copies of inputs over
several GPUs, weights fetched from RAM), ggml/src/ggml-cuda/fattn.cu (f16 copies of a quantised cache), b11501.
"""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.cache import sliding_cells
from cardmatch.engine.memory.engines.llama_cpp.graph import Graph
from cardmatch.engine.memory.engines.llama_cpp.settled import Settled

_F32 = 4
_F16 = 2
_PIPELINE_COPIES = 4  # GGML_SCHED_MAX_COPIES
_FETCH_FROM_TOKENS = 32  # smaller batches are computed where the weights lie


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one GPU has to compute, beside the graph itself.

    `pipelined`: several GPUs work on several micro-batches at once. `fetched_bytes`: the largest matrix of a layer that
    is copied from RAM to be multiplied here. `output`: the logits are computed here, by a matrix of
    `fetched_output_bytes` if that lies in RAM. `quantised_cache`: attention reads f16
    copies of it. `mask_kept`: the wider mask outlives its copy (graphs split by host tensors).
    """

    pipelined: bool = False
    fetched_bytes: int = 0
    fetched_output_bytes: int = 0
    output: bool = True
    quantised_cache: bool = False
    values_copied: bool = False
    mask_kept: bool = False


def compute_bytes(graph: Graph, settled: Settled, work: Work) -> int:
    """The compute buffer of one GPU: what all stages share and the largest of them, or the logits at the end."""
    tokens = batch_tokens(settled)
    row = tokens * _F32
    mask = _mask_cells(graph, settled) * tokens
    copies = _PIPELINE_COPIES if work.pipelined else 1
    streams = (copies - 1) * graph.hidden * row
    results = 3 if settled.era.fused_gates else 2
    inner = max(graph.feed_forward_stage(results), graph.experts_stage(results)) * row + work.fetched_bytes
    recurrent = graph.recurrent_stage(tokens, settled.slots) * _F32
    layers = [inner, recurrent, _attention_bytes(graph, settled, work, row)]
    stages = [streams + _logits_bytes(graph, settled, work, row)]
    if not settled.flash_attention or settled.era.half_mask:
        kept = mask * (_F16 if settled.flash_attention else _F32) * copies
        stages.append(streams + kept + max(layers))
    else:
        wide, narrow = mask * _F32 * copies, mask * _F16
        stages.append(streams + narrow + max(layers) + (wide if work.mask_kept or work.pipelined else 0))
        stages.append(streams + narrow + wide + (2 * graph.hidden + 4 * graph.query) * row)
    return max(stages)


def _attention_bytes(graph: Graph, settled: Settled, work: Work, row: int) -> int:
    if settled.flash_attention:
        copied = 0
        if work.quantised_cache and settled.era.reserved_dequantisation:
            window = sliding_cells(graph.window_tokens, settled) if graph.window_tokens else 0
            copied = max(settled.n_ctx * graph.key_value, window * graph.sliding_key_value) * _F16
        return graph.flash_stage * row + copied
    matrix = settled.n_ctx_seq * graph.heads * row
    return matrix + graph.plain_stage * row + (settled.n_ctx * graph.value * _F16 if work.values_copied else 0)


def _logits_bytes(graph: Graph, settled: Settled, work: Work, row: int) -> int:
    """Logits of the rows that are asked for, beside what they are computed from."""
    if not work.output:
        return 0
    capped = 2 if settled.fork and graph.soft_capped else 1
    logits = settled.outputs * _F32 * (graph.vocabulary * capped + graph.hidden) + graph.hidden * row // 2
    return logits + work.fetched_output_bytes


def host_compute_bytes(graph: Graph, settled: Settled, work: Work) -> int:
    """The pinned buffer in RAM that inputs pass through: embeddings and masks of one micro-batch."""
    tokens = batch_tokens(settled)
    halved = settled.flash_attention and settled.era.half_mask and not settled.fork
    mask = _mask_cells(graph, settled) * tokens * (_F16 if halved else _F32)
    embeddings = graph.hidden * tokens * _F32 * (2 if halved else 1)
    return embeddings + mask * (_PIPELINE_COPIES if work.pipelined else 1)


def fetches(settled: Settled) -> bool:
    """Whether batches are large enough to fetch weights from RAM."""
    return settled.n_ubatch >= _FETCH_FROM_TOKENS


def batch_tokens(settled: Settled) -> int:
    """Tokens of the graph that is reserved: one micro-batch, rounded up to as many from each slot."""
    return -(-settled.n_ubatch // settled.slots) * settled.slots


def _mask_cells(graph: Graph, settled: Settled) -> int:
    """Cells that each token's row of the masks covers: the context, and the sliding window where there is one."""
    cells = settled.n_ctx_seq
    if graph.window_tokens is not None:
        cells += sliding_cells(graph.window_tokens, settled) // settled.streams
    return cells
