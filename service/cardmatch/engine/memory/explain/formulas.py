"""The formula of each rule, and the component that it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.explain.explanation import Component, Rule


class Formula(NamedTuple):
    """An expression over a rule's numbers."""

    component: Component
    expression: str


_BLOCKS = "ceil({tokens} / block_tokens) + spare_blocks"
_FULL = _BLOCKS.format(tokens="tokens")
_IN_FLIGHT = _BLOCKS.format(tokens="min(tokens, window_tokens + in_flight_tokens)")
_RESTING = _BLOCKS.format(tokens="min(tokens, window_tokens)")

_SHARDED = "((elements - expert_elements) / shards + expert_elements / expert_shards)"
_OF_TOKENS = "factor * (token_bytes + pair_bytes * sequence_tokens) * tokens"
_OF_SEQUENCES = "factor * sequence_bytes * tokens / sequence_tokens"
_GROWING = "fixed_bytes + pictures * (picture_bytes + cells * (cell_bytes + pair_bytes * cells)) + finished_bytes"

FORMULAS: dict[Rule, Formula] = {
    Rule.WEIGHTS_SPLIT: Formula(Component.WEIGHTS, "split_bytes / tensor"),
    Rule.WEIGHTS_EXPERTS: Formula(Component.WEIGHTS, "expert_bytes / ranks"),
    Rule.WEIGHTS_PADDED_EXPERTS: Formula(Component.WEIGHTS, "expert_bytes * growth / ranks"),
    Rule.WEIGHTS_COPIED: Formula(Component.WEIGHTS, "copied_bytes"),
    Rule.WEIGHTS_HEADS: Formula(Component.WEIGHTS, "head_bytes * max(1, floor(kv_heads / tensor)) / kv_heads"),
    Rule.WEIGHTS_STAGE: Formula(Component.WEIGHTS, "stage_bytes"),
    Rule.WEIGHTS_BUFFER: Formula(Component.WEIGHTS, "buffer_bytes + projector_bytes"),
    Rule.ROTARY_TABLE: Formula(Component.WEIGHTS, "elements * 2"),
    Rule.LORA_SLOTS: Formula(
        Component.WEIGHTS, "slots * rank * (inputs / input_ranks + outputs / tensor) * 2 / stages"
    ),
    Rule.DRAFTER: Formula(Component.WEIGHTS, "drafter_bytes"),
    Rule.UNTIED_HEAD: Formula(Component.WEIGHTS, "head_bytes"),
    Rule.OFFLOADED: Formula(Component.WEIGHTS, "-offloaded_bytes"),
    Rule.CACHE_ALL: Formula(Component.CACHE, f"requests * (({_FULL}) * block_bytes + fixed_bytes)"),
    Rule.CACHE_WINDOW: Formula(
        Component.CACHE,
        f"({_IN_FLIGHT} + (requests - 1) * ({_RESTING})) * block_bytes + requests * fixed_bytes",
    ),
    Rule.CACHE_FIXED: Formula(Component.CACHE, "requests * fixed_bytes"),
    Rule.CACHE_SHARED: Formula(Component.CACHE, "-(requests - 1) * floor(prefix_tokens / block_tokens) * block_bytes"),
    Rule.CACHE_RESIDENT: Formula(Component.CACHE, "window_and_spare_bytes + state_bytes"),
    Rule.HIDDEN_STATES: Formula(Component.ACTIVATIONS, "batched_tokens * hidden_size * 2"),
    Rule.FORWARD: Formula(Component.ACTIVATIONS, "widths * batched_tokens * widest_layer * 2"),
    Rule.SAMPLING: Formula(Component.ACTIVATIONS, "copies * requests * vocabulary_size * 4"),
    Rule.INDEXER_SCORES: Formula(Component.ACTIVATIONS, "min(batched_tokens * longest_tokens * 4, most_bytes)"),
    Rule.ENCODER_PROFILE: Formula(Component.ACTIVATIONS, "profile_bytes"),
    Rule.PREFILL_AND_LOGITS: Formula(
        Component.ACTIVATIONS, "widths * (batched_tokens * widest_layer * 2 + requests * vocabulary_size * 4)"
    ),
    Rule.PREFILL: Formula(Component.ACTIVATIONS, "widths * requests * prompt_tokens * widest_layer * 2"),
    Rule.PREFILL_EAGER: Formula(
        Component.ACTIVATIONS,
        "widths * requests * prompt_tokens * (widest_layer * 2 + prompt_tokens * query_heads * 6)",
    ),
    Rule.COMPUTE_BUFFER: Formula(Component.ACTIVATIONS, "ratio * graph_bytes"),
    Rule.DRAFT_BUFFER: Formula(Component.ACTIVATIONS, "draft_bytes"),
    Rule.CONTEXT: Formula(Component.OVERHEAD, "context_bytes"),
    Rule.COMMUNICATION: Formula(Component.OVERHEAD, "rank_bytes"),
    Rule.GRAPHS: Formula(Component.OVERHEAD, "graph_bytes"),
    Rule.ALLOCATOR: Formula(Component.OVERHEAD, "base_bytes"),
    Rule.BUDGET_SHARE: Formula(Component.BUDGET, "floor(utilization * memory_bytes) - occupied_bytes"),
    Rule.BUDGET_FREE: Formula(Component.BUDGET, "memory_bytes - occupied_bytes"),
    Rule.BUDGET_AFTER_WEIGHTS: Formula(
        Component.BUDGET,
        "min(memory_bytes - occupied_bytes, fixed_bytes + min(most_cache_bytes,"
        " floor(free_fraction * max(0, memory_bytes - occupied_bytes - fixed_bytes))))",
    ),
    Rule.WEIGHTS_WHOLE: Formula(Component.WEIGHTS, "elements * bytes_each"),
    Rule.COMPONENT: Formula(Component.WEIGHTS, "elements * bytes_each"),
    Rule.COMPONENT_MATRIX: Formula(Component.WEIGHTS, "matrix_elements * bytes_each"),
    Rule.COMPONENT_BLOCKS: Formula(Component.WEIGHTS, "min(elements, 2 * block_elements) * bytes_each"),
    Rule.TRAINED_WEIGHTS: Formula(Component.WEIGHTS, f"bytes_each * {_SHARDED}"),
    Rule.FROZEN_WEIGHTS: Formula(
        Component.WEIGHTS, "(stored_bytes - expert_bytes) / shards + expert_bytes / expert_shards"
    ),
    Rule.ADAPTER_WEIGHTS: Formula(Component.WEIGHTS, "bytes_each * elements / shards"),
    Rule.AUTOCAST_COPIES: Formula(Component.WEIGHTS, "bytes_each * elements"),
    Rule.GATHERED_UNITS: Formula(Component.WEIGHTS, "max(units * layer_bytes + root_bytes, least_bytes)"),
    Rule.GATHERED_LIVE: Formula(Component.WEIGHTS, "bytes_each * min(elements, most_elements)"),
    Rule.GATHERED_STAGE: Formula(Component.WEIGHTS, "bytes_each * elements"),
    Rule.UNPACKED_MATRIX: Formula(Component.WEIGHTS, "bytes_each * elements / tensor"),
    Rule.GRADIENTS: Formula(Component.GRADIENTS, f"times * bytes_each * {_SHARDED}"),
    Rule.LARGEST_GRADIENT: Formula(Component.GRADIENTS, "times * bytes_each * elements / shards"),
    Rule.WHOLE_GRADIENTS: Formula(Component.GRADIENTS, "bytes_each * elements"),
    Rule.OPTIMIZER_STATES: Formula(Component.OPTIMIZER, f"bytes_each * {_SHARDED}"),
    Rule.PAGED_OUT: Formula(Component.OPTIMIZER, "-paged_bytes"),
    Rule.KEPT_ACTIVATIONS: Formula(Component.ACTIVATIONS, _OF_TOKENS),
    Rule.KEPT_OF_SOURCE: Formula(Component.ACTIVATIONS, _OF_SEQUENCES),
    Rule.LIVE_LAYER: Formula(Component.ACTIVATIONS, _OF_TOKENS),
    Rule.LIVE_OF_SOURCE: Formula(Component.ACTIVATIONS, _OF_SEQUENCES),
    Rule.LOGITS: Formula(Component.ACTIVATIONS, "bytes_each * vocabulary_size * tokens"),
    Rule.FUSED_LOSS: Formula(Component.ACTIVATIONS, "token_bytes * tokens + fixed_bytes"),
    Rule.REDUCED_UNITS: Formula(Component.ACTIVATIONS, "units * bytes_each * layer_elements + head_bytes"),
    Rule.REDUCE_BUCKETS: Formula(Component.ACTIVATIONS, "buckets * bytes_each * min(elements, bucket_elements)"),
    Rule.LAST_GRADIENTS: Formula(Component.ACTIVATIONS, "bytes_each * elements"),
    Rule.STEP_COPY: Formula(
        Component.ACTIVATIONS,
        "max(gradient_bytes + copy_bytes, whole_bytes) - max(gradient_bytes, whole_bytes)",
    ),
    Rule.TEXT_ENCODING: Formula(Component.ACTIVATIONS, _GROWING),
    Rule.DENOISING: Formula(Component.ACTIVATIONS, _GROWING),
    Rule.DECODING: Formula(Component.ACTIVATIONS, _GROWING),
    Rule.TRAINING_PASS: Formula(Component.ACTIVATIONS, _GROWING),
    Rule.ENCODING: Formula(Component.ACTIVATIONS, "batch * tokens * (token_bytes + pair_bytes * tokens)"),
    Rule.HYPOTHESES: Formula(Component.CACHE, "batch * beams * beam_bytes"),
    Rule.UNREUSED_BLOCKS: Formula(
        Component.OVERHEAD,
        "max(0, max(base_bytes + max(loss_bytes, recompute_bytes)"
        " + unreused_share * min(loss_bytes, recompute_bytes),"
        " step_bytes + step_unreused_share * (kept_bytes + loss_bytes)) - peak_bytes)",
    ),
    Rule.UNREUSED_SHARE: Formula(Component.OVERHEAD, "unreused_share * activations_bytes"),
    Rule.SLACK_LEFT: Formula(Component.OVERHEAD, "budget_bytes - needed_bytes"),
}
