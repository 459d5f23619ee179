"""How families of models spell and default their keys: the table that readers take, as data."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from cardmatch.engine.models.config.towers import Recipe, TowerRule, compile_towers

Flag = bool | str
"""A fact of the family, or the name of the key that decides it."""


class ExpertRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a family writes down its mixture of experts.

    *width* is the key of one expert's width. *shared* says how the shared expert's width is told: `count` experts as
    wide as a routed one, `dense_count` as wide as the dense feed-forward, one of the width under `shared_width`
    (`gated_width`: with a gate of its own), or as wide as the *dense* width. *layers* is the rule that says which
    layers are mixtures; *optional* that some models of the family have none.
    """

    width: str = "moe_intermediate_size"
    shared: Literal["none", "count", "dense_count", "width", "gated_width", "dense"] = "none"
    layers: Literal["all", "first_dense", "sparse_step", "interval", "listed"] = "all"
    optional: bool = False
    router_bias: Flag = False
    expert_bias: Flag = False
    dense_width: str = "intermediate_size"


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a `model_type` means. Norms count vectors of the hidden size (a layer norm with bias is two wide).

    *omits* are the sizes that published configs of the family are known to leave out, of a nested language model too;
    only those may be the class's defaults.
    """

    reader: str = "decoder"
    like: str = ""
    classes: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    text: str = ""
    text_if: dict[str, dict[str, str]] = {}
    text_for: dict[str, str] = {}
    towers: tuple[str, ...] = ()
    by_tower: dict[str, tuple[str, ...]] = {}
    defaults: dict[str, Any] = {}
    omits: tuple[str, ...] = ()
    names: dict[str, tuple[str, ...]] = {}
    tied: bool = False
    norms: int = 2
    norm_width: int = 1
    final_norms: int = 1
    final_norm_if: Flag = True
    qk_norm: Literal["none", "head", "whole"] = "none"
    qk_norm_if: Flag = True
    query_bias: Flag = False
    output_bias: Flag = False
    mlp_bias: Flag = False
    head_bias: Flag = False
    sinks: Flag = False
    gated: bool = True
    extra: int = 0
    rotary: float = 1.0
    window: Literal["none", "always", "below_context", "listed", "pattern", "from_layer"] = "none"
    pattern: str = ""
    positions: Literal["none", "plain", "offset_two", "after_padding"] = "none"
    kv_heads: Literal["plain", "falcon", "multi_query", "chatglm", "all"] = "plain"
    width: Literal["plain", "four_times", "expansion", "half"] = "plain"
    experts: ExpertRule | None = None
    embedding_norms: int = 0
    headless: bool = False
    next_token: bool = False
    version: Literal[1, 2] = 2
    layers: Literal["", "periodic", "granite", "bamba", "both"] = ""
    mamba_norm: Flag = True
    indexed: bool = False
    pooler: bool = False
    head: Literal["bert", "modern", "none"] = "bert"
    gate: Literal["none", "head", "whole", "key"] = "none"


class Dialects(msgspec.Struct, frozen=True, kw_only=True):
    """Names that keys go by, families by `model_type`, and the family of each architecture that GGUF files name."""

    names: dict[str, tuple[str, ...]]
    families: dict[str, Family]
    by_class: dict[str, str]
    towers: dict[str, Recipe]
    gguf: dict[str, str]


def load_dialects(raw: bytes) -> Dialects:
    """Dialects from their JSON file, families that are `like` another filled in. Raises msgspec.ValidationError."""
    file = msgspec.json.decode(raw)
    families: dict[str, Family] = {}
    for name in file["families"]:
        families[name] = msgspec.convert(_filled(file["families"], name), Family)
    by_class = {each: name for name, family in families.items() for each in family.classes}
    return Dialects(
        names=msgspec.convert(file["names"], dict[str, tuple[str, ...]]),
        families=families,
        by_class=by_class,
        towers=compile_towers(msgspec.convert(file["towers"], dict[str, TowerRule])),
        gguf=msgspec.convert(file["gguf"], dict[str, str]),
    )


def _filled(families: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The entry of family *name* over that of the family it is like; defaults are joined, classes are not handed on."""
    entry = families[name]
    if "like" not in entry:
        return entry
    base = _filled(families, entry["like"])
    defaults = {**base.get("defaults", {}), **entry.get("defaults", {})}
    names = {**base.get("names", {}), **entry.get("names", {})}
    return {**base, "classes": [], "omits": [], **entry, "defaults": defaults, "names": names}
