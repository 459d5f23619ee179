"""vLLM's cache manager: layers in groups that share one pool of equal blocks."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.engines.vllm.pages import PageKind, PageSpec
from cardmatch.engine.memory.engines.vllm.settle import Settled

_STATE_ALIGNMENT_TOKENS = 16
_LATENT_ALIGNMENT_TOKENS = 128
_ALMOST_AS_MANY = 1.5
"""Kinds of layers whose numbers differ by less than this factor are padded to the larger number."""


class Kind(NamedTuple):
    """A kind of layers: how many groups they form, how many layers each holds, and how its blocks are counted."""

    spec: PageSpec
    groups: int
    block_tokens: int


class Plan(NamedTuple):
    """How the whole model's layers are grouped: a block is `page_bytes` for each of `group_layers` layers."""

    kinds: tuple[Kind, ...]
    page_bytes: int
    group_layers: int
    block_tokens: int

    @property
    def groups(self) -> int:
        """Groups over all kinds."""
        return sum(kind.groups for kind in self.kinds)


def plan(specs: tuple[PageSpec, ...], settled: Settled) -> Plan:
    """Group the layers of the whole model.

    Layers that keep every token form one group whatever their sizes; otherwise pages are made equal and kinds are cut
    into groups of as many layers as the rarest kind has. Source: vllm v0.33.0 v1/core/kv_cache_planning.py.
    """
    paged = tuple(spec for spec in specs if spec.kind is not PageKind.SOURCE)
    block = settled.block_size
    if _is_uniform(paged):
        page = sum(spec.layers * spec.token_bytes * (block // spec.entry_tokens or 1) for spec in paged)
        return Plan(tuple(Kind(spec, 1, block) for spec in paged[:1]), page, 1, block)
    block = _attention_block(paged, block)
    pages = [_page_bytes(spec, block) for spec in paged]
    page = max(pages)
    numbers = [spec.layers for spec in paged]
    fewest, most = min(numbers), max(numbers)
    size = most if settled.era.pads_short_groups and most < fewest * _ALMOST_AS_MANY else fewest
    kinds = tuple(
        Kind(spec, -(-spec.layers // size), block if spec.kind is PageKind.STATE or page % own else block * page // own)
        for spec, own in zip(paged, pages, strict=True)
    )
    return Plan(kinds, page, size, block)


def _is_uniform(specs: tuple[PageSpec, ...]) -> bool:
    """Whether all layers need the same number of slots: they keep every token, or slide over the same window."""
    first = specs[0] if specs else None
    return first is None or (
        first.kind is not PageKind.STATE
        and all(spec.kind is first.kind and spec.window_tokens == first.window_tokens for spec in specs)
    )


def _attention_block(specs: tuple[PageSpec, ...], block: int) -> int:
    """The block of attention layers beside recurrent ones: large enough for a page to hold a whole state.

    Source: vllm v0.33.0 platforms/interface.py, _align_hybrid_block_size.
    """
    state = max((spec.state_bytes for spec in specs), default=0)
    attention = max((spec.token_bytes for spec in specs), default=0)
    if not state or not attention:
        return block
    latent = any(spec.latent for spec in specs)
    alignment = max(_STATE_ALIGNMENT_TOKENS, block, _LATENT_ALIGNMENT_TOKENS if latent else 0)
    return max(block, alignment * -(-state // (alignment * attention)))


def _page_bytes(spec: PageSpec, block: int) -> int:
    return spec.state_bytes or block * spec.token_bytes


def layout(plan: Plan, specs: tuple[PageSpec, ...], settled: Settled, *, states: int, ranks: int) -> CacheLayout:
    """The cache of one request where a pipeline stage holds the layers of *specs*; *states* pages for each state.

    Cross attention has its own blocks, filled once with the source.
    """
    block_bytes = _stage_block_bytes(plan, specs)
    terms = [_term(kind, block_bytes * kind.groups, settled, states) for kind in plan.kinds]
    terms += [_source_term(spec, settled.block_size) for spec in specs if spec.kind is PageKind.SOURCE]
    return CacheLayout(terms=tuple(terms), ranks=ranks, block_bytes=block_bytes)


def _stage_block_bytes(plan: Plan, specs: tuple[PageSpec, ...]) -> int:
    """One block on a stage: the layers of its fullest group."""
    if plan.group_layers == 1 and len(plan.kinds) == 1:
        block = plan.block_tokens
        return sum(
            spec.layers * spec.token_bytes * (block // spec.entry_tokens or 1)
            for spec in specs
            if spec.kind is not PageKind.SOURCE
        )
    held = {spec._replace(layers=0): spec.layers for spec in specs}
    layers = [-(-held.get(kind.spec._replace(layers=0), 0) // kind.groups) for kind in plan.kinds]
    return plan.page_bytes * max(layers, default=0)


def _term(kind: Kind, block_bytes: int, settled: Settled, states: int) -> CacheTerm:
    spec = kind.spec
    if spec.kind is PageKind.STATE:
        return CacheTerm(fixed_bytes=states * block_bytes, state_bytes=states * block_bytes)
    per_token = block_bytes // kind.block_tokens
    padding = block_bytes - per_token * kind.block_tokens
    if spec.kind is PageKind.EVERY_TOKEN:
        return CacheTerm(bytes_per_token=per_token, block_tokens=kind.block_tokens, padding_bytes=padding)
    sliding = spec.kind is PageKind.SLIDING
    return CacheTerm(
        bytes_per_token=per_token,
        block_tokens=kind.block_tokens,
        padding_bytes=padding,
        cap_tokens=spec.window_tokens - 1 if sliding else spec.window_tokens,
        flight_tokens=settled.flight_tokens,
        spare_blocks=1 if sliding else 0,
    )


def _source_term(spec: PageSpec, block: int) -> CacheTerm:
    return CacheTerm(fixed_bytes=spec.layers * -(-spec.source_tokens // block) * block * spec.token_bytes)
