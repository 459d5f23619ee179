"""One line of a reckoning."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.notice import Scalar
from cardmatch.engine.terms.units import SignedBytes


class Component(StrEnum):
    """What a line belongs to. The lines of one add up to its figure in `per_gpu`; `cache` is KV cache and state.

    Where `per_gpu` has no figure for optimizer states (image pipelines), they are part of its weights.
    """

    WEIGHTS = "weights"
    CACHE = "cache"
    GRADIENTS = "gradients"
    OPTIMIZER = "optimizer"
    ACTIVATIONS = "activations"
    OVERHEAD = "overhead"
    BUDGET = "budget"


class Rule(StrEnum):
    """Every rule that a line may follow. `text/` has one sentence for each."""

    WEIGHTS_SPLIT = "weights_split"
    WEIGHTS_EXPERTS = "weights_experts"
    WEIGHTS_PADDED_EXPERTS = "weights_padded_experts"
    WEIGHTS_COPIED = "weights_copied"
    WEIGHTS_HEADS = "weights_heads"
    WEIGHTS_STAGE = "weights_stage"
    WEIGHTS_BUFFER = "weights_buffer"
    ROTARY_TABLE = "rotary_table"
    LORA_SLOTS = "lora_slots"
    DRAFTER = "drafter"
    UNTIED_HEAD = "untied_head"
    OFFLOADED = "offloaded"
    CACHE_ALL = "cache_all"
    CACHE_WINDOW = "cache_window"
    CACHE_FIXED = "cache_fixed"
    CACHE_SHARED = "cache_shared"
    CACHE_RESIDENT = "cache_resident"
    HIDDEN_STATES = "hidden_states"
    FORWARD = "forward"
    SAMPLING = "sampling"
    INDEXER_SCORES = "indexer_scores"
    ENCODER_PROFILE = "encoder_profile"
    PREFILL_AND_LOGITS = "prefill_and_logits"
    PREFILL = "prefill"
    PREFILL_EAGER = "prefill_eager"
    COMPUTE_BUFFER = "compute_buffer"
    DRAFT_BUFFER = "draft_buffer"
    CONTEXT = "context"
    COMMUNICATION = "communication"
    GRAPHS = "graphs"
    ALLOCATOR = "allocator"
    WEIGHTS_WHOLE = "weights_whole"
    COMPONENT = "component"
    COMPONENT_MATRIX = "component_matrix"
    COMPONENT_BLOCKS = "component_blocks"
    TRAINED_WEIGHTS = "trained_weights"
    FROZEN_WEIGHTS = "frozen_weights"
    ADAPTER_WEIGHTS = "adapter_weights"
    AUTOCAST_COPIES = "autocast_copies"
    GATHERED_UNITS = "gathered_units"
    GATHERED_LIVE = "gathered_live"
    GATHERED_STAGE = "gathered_stage"
    UNPACKED_MATRIX = "unpacked_matrix"
    GRADIENTS = "gradients"
    LARGEST_GRADIENT = "largest_gradient"
    WHOLE_GRADIENTS = "whole_gradients"
    OPTIMIZER_STATES = "optimizer_states"
    PAGED_OUT = "paged_out"
    KEPT_ACTIVATIONS = "kept_activations"
    KEPT_OF_SOURCE = "kept_of_source"
    LIVE_LAYER = "live_layer"
    LIVE_OF_SOURCE = "live_of_source"
    LOGITS = "logits"
    FUSED_LOSS = "fused_loss"
    REDUCED_UNITS = "reduced_units"
    REDUCE_BUCKETS = "reduce_buckets"
    LAST_GRADIENTS = "last_gradients"
    STEP_COPY = "step_copy"
    TEXT_ENCODING = "text_encoding"
    DENOISING = "denoising"
    DECODING = "decoding"
    TRAINING_PASS = "training_pass"  # noqa: S105 - a pass over a batch
    ENCODING = "encoding"
    HYPOTHESES = "hypotheses"
    UNREUSED_BLOCKS = "unreused_blocks"
    UNREUSED_SHARE = "unreused_share"
    SLACK_LEFT = "slack_left"
    BUDGET_SHARE = "budget_share"
    BUDGET_FREE = "budget_free"
    BUDGET_AFTER_WEIGHTS = "budget_after_weights"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where the rule stands: a file of an engine or library at a version, or a section of a paper."""

    engine: str
    version: str
    file: str


class FittedOn(msgspec.Struct, frozen=True, kw_only=True):
    """What a fitted number was measured on."""

    rows: Annotated[int, Meta(ge=0, le=1_000_000)]
    as_of: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a rule, its formula over named numbers, and what comes out.

    A formula is an expression with + - * /, `floor`, `ceil`, `min` and `max`; its result is bytes, rounded down.
    """

    component: Component
    rule: Rule
    formula: str
    numbers: dict[str, Scalar]
    result_bytes: SignedBytes
    source: Source
    measured: Annotated[FittedOn | None, Meta(description="Where a number was fitted; null where none was.")] = None
    message: str = ""
