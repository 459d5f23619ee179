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
}
