"""The cache of a request on the stage of a placement that runs out first."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.engines.vllm.compressed import compressed_plan, is_compressed
from cardmatch.engine.memory.engines.vllm.groups import Plan, layout, plan
from cardmatch.engine.memory.engines.vllm.pages import PageKind, PageSpec, page_specs
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.memory.extras import drafter_rows
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.rank_cache import cache_format
from cardmatch.engine.memory.speculation import SpeculativeMethod
from cardmatch.engine.memory.weights import PipelineStage
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheRow, by_layer
from cardmatch.engine.models.kv_formats import KvCache


class Caching(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the size of pages beside the model: tensor ranks, formats, options."""

    settled: Settled
    kv_cache: KvCache
    dtypes: StateDtypes
    tensor: int
    speculative_tokens: int
    ranks: int
    hybrid: bool


def caching(job: ServingJob, settled: Settled, placement: Placement, dtypes: StateDtypes, *, hybrid: bool) -> Caching:
    """The caching of *job* on *placement*; without *hybrid* management windows are charged at full length."""
    return Caching(
        settled=settled,
        kv_cache=cache_format(job.cache_rows, job.kv_cache, placement.device, automatic=job.automatic_cache),
        dtypes=dtypes,
        tensor=placement.layout.tensor,
        speculative_tokens=job.speculative.tokens if job.speculative else 0,
        ranks=placement.layout.decode_context,
        hybrid=hybrid,
    )


def specs_of(rows: tuple[CacheRow, ...], how: Caching) -> tuple[PageSpec, ...]:
    """Page specs of *rows*, windows as every token where the hybrid manager is off."""
    specs = page_specs(rows, how.kv_cache, how.dtypes, how.tensor, how.speculative_tokens)
    if how.hybrid:
        return specs
    return tuple(
        spec._replace(kind=PageKind.EVERY_TOKEN, window_tokens=0)
        if spec.kind in {PageKind.SLIDING, PageKind.CHUNKED}
        else spec
        for spec in specs
    )


def whole_plan(job: ServingJob, how: Caching) -> Plan:
    """The grouping of the whole model's layers."""
    rows = rows_of(job, None)
    specs = specs_of(rows, how)
    if is_compressed(rows):
        return compressed_plan(rows, specs, how.settled)
    return plan(specs, how.settled)


def stage_cache(job: ServingJob, grouping: Plan, stage: PipelineStage | None, how: Caching) -> CacheLayout:
    """The cache of one request on each GPU of *stage*, or of the only stage."""
    states = (2 if how.settled.aligns_states else 1) + how.speculative_tokens
    return layout(grouping, specs_of(rows_of(job, stage), how), how.settled, states=states, ranks=how.ranks)


def rows_of(job: ServingJob, stage: PipelineStage | None) -> tuple[CacheRow, ...]:
    """Cache rows of a stage, with those of the drafter on the last."""
    drafts = job.speculative is not None and job.speculative.method is SpeculativeMethod.MTP
    if stage is None:
        rows = by_layer(job.architecture, next_token=True) if drafts else job.cache_rows
        return rows + drafter_rows(job) if job.speculative is not None else rows
    end = stage.start + stage.layers
    last = end == len(job.architecture.layer_order)
    rows = by_layer(job.architecture, range(stage.start, end), next_token=drafts and last)
    return rows + drafter_rows(job) if last else rows
