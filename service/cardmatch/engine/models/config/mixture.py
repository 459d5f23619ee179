"""Mixtures of experts: how many, how wide, and in which layers."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.models.architecture import Experts
from cardmatch.engine.models.config.dialects import ExpertRule, Family
from cardmatch.engine.models.config.keys import Keys, contradiction, integer, wrong_value
from cardmatch.engine.models.config.shape import MOST_HIDDEN, MOST_LAYERS, MOST_WIDTH, decides
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

MOST_EXPERTS = 1 << 14


class Mixture(msgspec.Struct, frozen=True):
    """A family's experts; `sparse` says for each layer whether it has them."""

    block: Experts
    sparse: tuple[bool, ...]
    router_bias: bool
    expert_bias: bool


def read_mixture(keys: Keys, family: Family, layers: int) -> Mixture | None:
    """The experts of a config, or None where it has none. Raises Invalid."""
    rule = family.experts
    if rule is None:
        return None
    if rule.optional:
        experts = first(keys, "num_experts", MOST_EXPERTS, fallback=0, low=0)
    else:
        experts = first(keys, "num_experts", MOST_EXPERTS)
    if not experts:
        return None
    width = first(keys, rule.width, MOST_WIDTH)
    block = Experts(
        experts=experts,
        experts_per_token=read_chosen(keys, experts),
        width=width,
        gated=family.gated,
        shared_width=_shared_width(keys, rule, width),
        shared_gate=rule.shared == "gated_width",
        input_size=keys.maybe("routed_expert_hidden_size", high=MOST_HIDDEN),
    )
    return Mixture(
        block=block,
        sparse=tuple(_LAYERS[rule.layers](keys, layers)),
        router_bias=decides(keys, rule.router_bias),
        expert_bias=decides(keys, rule.expert_bias),
    )


def read_chosen(keys: Keys, experts: int) -> int:
    """Experts per token, which cannot be more than there are."""
    chosen = first(keys, "num_experts_per_tok", MOST_EXPERTS)
    if chosen > experts:
        contradiction(
            keys.where("num_experts_per_tok"), value=chosen, expected=experts, other=keys.where("num_experts")
        )
    return chosen


def first(keys: Keys, name: str, high: int, *, fallback: int | None = None, low: int = 1) -> int:
    """An integer, or the first of a list of them that are all the same."""
    found = keys.find(name)
    if found is None or not isinstance(found[1], list):
        return keys.size(name, fallback, low=low, high=high)
    key, items = found
    if not items:
        return integer(None, keys.at(key), low=low, high=high)
    sizes = [integer(item, f"{keys.at(key)}/{index}", low=low, high=high) for index, item in enumerate(items)]
    for index, size in enumerate(sizes):
        if size != sizes[0]:
            contradiction(f"{keys.at(key)}/{index}", value=size, expected=sizes[0], other=f"{keys.at(key)}/0")
    return sizes[0]


def _shared_width(keys: Keys, rule: ExpertRule, width: int) -> int:
    if rule.shared == "none":
        return 0
    if rule.shared in {"width", "gated_width"}:
        return first(keys, "shared_expert_intermediate_size", MOST_WIDTH, fallback=0, low=0)
    if rule.shared == "dense":
        return first(keys, "intermediate_size", MOST_WIDTH)
    count = first(keys, "n_shared_experts", 256, fallback=0, low=0)
    return count * (first(keys, "intermediate_size", MOST_WIDTH) if rule.shared == "dense_count" else width)


def _all(_: Keys, layers: int) -> list[bool]:
    return [True] * layers


def _first_dense(keys: Keys, layers: int) -> list[bool]:
    """The first layers are dense; then every `moe_layer_freq`-th is a mixture, or those that its list marks."""
    kinds = keys.array("mlp_layer_types", length=layers)
    if kinds is not None:
        return _marked(*kinds)
    dense = keys.size("first_k_dense_replace", 0, low=0, high=MOST_LAYERS)
    if keys.find("first_k_dense_replace"):
        within_layers(dense, keys.where("first_k_dense_replace"), layers)
    found = keys.find("moe_layer_freq")
    if found is not None and isinstance(found[1], list):
        marks = keys.integers("moe_layer_freq", low=0, high=1, length=layers) or []
        return [bool(mark) and layer >= dense for layer, mark in enumerate(marks)]
    step = keys.size("moe_layer_freq", 1, high=MOST_LAYERS)
    return [layer >= dense and layer % step == 0 for layer in range(layers)]


def within_layers(value: int, pointer: str, layers: int) -> None:
    """Refuse a *value* that counts more layers than there are."""
    if value > layers:
        raise Invalid(Fault(code=FaultCode.TOO_LARGE, pointer=pointer, params={"maximum": layers}))


def _marked(pointer: str, kinds: list[Any]) -> list[bool]:
    for index, kind in enumerate(kinds):
        if kind not in {"dense", "sparse"}:
            wrong_value(str(kind), f"{pointer}/{index}", ("dense", "sparse"))
    return [kind == "sparse" for kind in kinds]


def _sparse_step(keys: Keys, layers: int) -> list[bool]:
    """Every `decoder_sparse_step`-th layer, except those under `mlp_only_layers` (Qwen)."""
    step = keys.size("decoder_sparse_step", 1, high=MOST_LAYERS)
    dense = keys.integers("mlp_only_layers", low=0, high=layers - 1) or []
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(layers)]


def _interval(keys: Keys, layers: int) -> list[bool]:
    """From `moe_layer_start_index` to `moe_layer_end_index` in steps of `moe_layer_interval` (ERNIE)."""
    start = first(keys, "moe_layer_start_index", MOST_LAYERS, fallback=0, low=0)
    end = first(keys, "moe_layer_end_index", MOST_LAYERS, fallback=-1, low=-1)
    step = keys.size("moe_layer_interval", 1, high=MOST_LAYERS)
    last = layers - 1 if end < 0 else end
    return [start <= layer <= last and (layer + 1) % step == 0 for layer in range(layers)]


def _listed(keys: Keys, layers: int) -> list[bool]:
    """Those that `moe_layers_enum` lists (Step: a list or a comma-separated string); absent, all but the first few."""
    found = keys.find("moe_layers_enum")
    if found is None:
        return _first_dense(keys, layers)
    key, value = found
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        if not all(part.isdecimal() and len(part) < 5 for part in parts):
            wrong_value(value, keys.at(key), ("0,1,2",))
        chosen = {int(part) for part in parts}
    else:
        chosen = set(keys.integers("moe_layers_enum", low=0, high=MOST_LAYERS) or ())
    return [layer in chosen for layer in range(layers)]


_LAYERS = {
    "all": _all,
    "first_dense": _first_dense,
    "sparse_step": _sparse_step,
    "interval": _interval,
    "listed": _listed,
}
