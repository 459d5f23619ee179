"""Image and audio encoders beside a language model, counted by formulas that the dialect table holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from cardmatch.engine.models.architecture import Tower, TowerKind
from cardmatch.engine.models.config.formula import Formula, compile_formula
from cardmatch.engine.models.config.keys import Keys, integer, wrong_type
from cardmatch.engine.terms.fault import FaultCode, refusal

_MOST_SIZE = 1 << 20


class SizeRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a size of a formula comes from: the keys it goes by and the class default.

    `flag` reads a boolean as 0 or 1, `count` the length of a list, `item` one entry of a list; `outer` looks into the
    whole config rather than the tower's object; `times` is the size that an expansion ratio multiplies; `like` the size
    that an absent one equals.
    """

    keys: tuple[str, ...] = ()
    default: int | float | None = None
    flag: bool = False
    count: bool = False
    item: int | None = None
    outer: bool = False
    times: str = ""
    like: str = ""


class TowerRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tower as data: where its object lies, its sizes (in order, `text` is the language model's width), its count.

    An absent object means no tower, unless the class implies one with its defaults or cannot do without.
    """

    tower: TowerKind = TowerKind.VISION
    config: tuple[str, ...] = ("vision_config",)
    sizes: dict[str, SizeRule] = {}
    derived: dict[str, str] = {}
    parameters: str
    absent: Literal["none", "implied", "refused"] = "none"
    hidden: str = "h"
    layers: str = "L"
    width: str = "f"
    tokens: str = ""


class Recipe(msgspec.Struct, frozen=True):
    """A tower rule with its formulas compiled."""

    rule: TowerRule
    derived: tuple[tuple[str, Formula], ...]
    parameters: Formula


def compile_towers(rules: Mapping[str, TowerRule]) -> dict[str, Recipe]:
    """Recipes by name. Raises ValueError where a formula is not arithmetic."""
    return {
        name: Recipe(
            rule=rule,
            derived=tuple((size, compile_formula(text)) for size, text in rule.derived.items()),
            parameters=compile_formula(rule.parameters),
        )
        for name, rule in rules.items()
    }


def read_towers(keys: Keys, recipes: tuple[Recipe, ...], hidden_size: int) -> tuple[Tower, ...]:
    """The towers that a config describes beside a language model of *hidden_size*. Raises Invalid."""
    found = (_read(keys, recipe, hidden_size) for recipe in recipes)
    return tuple(tower for tower in found if tower is not None)


def _read(keys: Keys, recipe: Recipe, hidden_size: int) -> Tower | None:
    rule = recipe.rule
    config = _object(keys, rule)
    if config is None:
        return None
    sizes: dict[str, int] = {"text": hidden_size}
    for name, size in rule.sizes.items():
        sizes[name] = _size(keys if size.outer else config, name, size, sizes)
    try:
        for name, formula in recipe.derived:
            sizes[name] = formula(sizes)
        parameters = max(recipe.parameters(sizes), 0)
    except ZeroDivisionError:  # a size of zero that another is divided by
        raise refusal(FaultCode.TOO_SMALL, config.pointer, minimum=1) from None
    tokens = sizes.get(rule.tokens)
    return Tower(
        tower=rule.tower,
        parameters=parameters,
        hidden_size=sizes.get(rule.hidden),
        layers=sizes.get(rule.layers),
        width=sizes.get(rule.width),
        patch_tokens=tokens or None,
    )


def _object(keys: Keys, rule: TowerRule) -> Keys | None:
    """The tower's own object; the whole config where the rule names none."""
    if not rule.config:
        return keys
    for path in rule.config:
        inner: Keys | None = keys
        for step in path.split("/"):
            inner = inner.within(step) if inner else None
        if inner is not None:
            return inner
    if rule.absent == "refused":
        keys.missing(rule.config[0])
    return Keys({}, pointer=keys.at(rule.config[0])) if rule.absent == "implied" else None


def _size(keys: Keys, name: str, rule: SizeRule, sizes: Mapping[str, int]) -> int:
    found = next((hit for key in rule.keys if (hit := keys.find(key))), None)
    if found is None:
        return _default(keys, rule, sizes, rule.keys[0] if rule.keys else name)
    key, value = found
    pointer = keys.at(key)
    if rule.flag:
        return int(value) if isinstance(value, bool) else wrong_type(value, pointer, "boolean")
    if rule.count or (rule.item is not None and isinstance(value, list)):
        return _listed(value, pointer, rule)
    if rule.times:
        return int(keys.number(key, 1, low=0, high=1024) * sizes[rule.times])
    return integer(value, pointer, low=0 if rule.default == 0 else 1, high=_MOST_SIZE)


def _default(keys: Keys, rule: SizeRule, sizes: Mapping[str, int], name: str) -> int:
    if rule.default is None:
        return sizes[rule.like] if rule.like else keys.missing(name)
    return round(rule.default * sizes[rule.times]) if rule.times else int(rule.default)


def _listed(value: Any, pointer: str, rule: SizeRule) -> int:
    if not isinstance(value, list):
        wrong_type(value, pointer, "array")
    if rule.item is None:
        return min(len(value), _MOST_SIZE)
    if rule.item >= len(value):
        return integer(None, f"{pointer}/{rule.item}", low=0, high=_MOST_SIZE)
    return integer(value[rule.item], f"{pointer}/{rule.item}", low=0, high=_MOST_SIZE)
