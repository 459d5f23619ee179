"""llama.cpp's options with every default filled in for one job."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.eras import IK_ERA, Era, MlaEra, era_of
from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention, LlamaCpp, Variant
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.architecture import Attention, LatentAttention

PADDING = 256
"""Cells of a cache come in multiples of this (src/llama-context.cpp)."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What the start of the log prints.

    `n_ctx` cells in all: `streams` caches of `n_ctx_seq` cells each, one where the slots share it.
    `window_extra_tokens` are the cells that a sliding layer keeps beside its windows, `outputs` the rows of logits per
    micro-batch, `states` the recurrent states.
    """

    era: Era
    fork: bool
    mla: MlaEra
    n_ctx: int
    n_ctx_seq: int
    streams: int
    slots: int
    n_batch: int
    n_ubatch: int
    flash_attention: bool
    swa_full: bool
    window_extra_tokens: int
    outputs: int
    states: int


def padded(tokens: int) -> int:
    """*tokens* rounded up to whole blocks of cells."""
    return -(-tokens // PADDING) * PADDING


def settle(options: LlamaCpp, job: ServingJob) -> Settled:
    """Fill in the defaults of *options* for *job*. Source: src/llama-context.cpp, tools/server/server.cpp (b11501)."""
    fork = options.variant is Variant.IK
    era = IK_ERA if fork else era_of(int(options.version[1:]))
    slots = options.n_parallel or max(era.default_slots, min(job.concurrency, 256))
    streams = 1 if _unified(options, era) else slots
    asked = options.n_ctx or _asked(job, streams)
    n_ctx_seq = padded(asked) if streams == 1 else padded(asked // streams)
    n_batch = min(options.n_batch, n_ctx_seq * streams)
    n_ubatch = min(options.n_ubatch, n_batch)
    drafts = options.draft_tokens if options.draft else 0
    limited = options.limited_outputs if options.limited_outputs is not None else era.limited_outputs
    mla = options.mla or era.mla
    return Settled(
        era=era,
        fork=fork,
        mla=mla,
        n_ctx=n_ctx_seq * streams,
        n_ctx_seq=n_ctx_seq,
        streams=streams,
        slots=slots,
        n_batch=n_batch,
        n_ubatch=n_ubatch,
        flash_attention=_flash_attention(options.flash_attention, era, job, mla),
        swa_full=options.swa_full if options.swa_full is not None else not era.windowed_cache,
        window_extra_tokens=n_ubatch if era.window_by_micro_batch else n_batch,
        outputs=min(slots * (1 + drafts), n_ubatch) if limited else n_ubatch,
        states=slots * (1 + drafts),
    )


def _unified(options: LlamaCpp, era: Era) -> bool:
    """Whether slots share one cache: where nothing is said, those that the server chose by itself do."""
    if not era.separate_streams:
        return True
    if options.kv_unified is None:
        return era.default_unified and options.n_parallel is None
    return options.kv_unified


def _asked(job: ServingJob, streams: int) -> int:
    """Cells that the workload needs: all requests at their mean length on a shared cache, else the longest in each."""
    if streams > 1:
        return job.context_tokens * streams
    return max(job.context_tokens, job.concurrency * job.mean_tokens)


def _flash_attention(asked: FlashAttention, era: Era, job: ServingJob, mla: MlaEra) -> bool:
    """`auto` is on unless a layer's keys and values differ in size, which CUDA kernels support for latents alone."""
    if asked is not FlashAttention.AUTO:
        return asked is FlashAttention.ON
    return era.flash_attention_auto and not any(
        _uneven(block, mla) for group in job.architecture.layer_groups for block in group.blocks
    )


def _uneven(block: object, mla: MlaEra) -> bool:
    if isinstance(block, LatentAttention):
        return mla is MlaEra.EXPANDED and block.no_rope_head_size + block.rope_head_size != block.value_head_size
    return isinstance(block, Attention) and (block.value_head_size or block.head_size) != block.head_size
