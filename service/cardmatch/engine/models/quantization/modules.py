"""Names of modules: which linear layers a pattern of an ignore list means, whatever the checkpoint calls them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

import msgspec

from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

_FEED_FORWARD = ("mlp", "feed_forward", "ffn", "block_sparse_moe", "mixer")
_ATTENTION = ("self_attn", "attention", "self_attention", "attn", "linear_attn", "mixer", "mamba", "conv", "cross_attn")
_INSIDE = {PartKind.EXPERTS: ("experts",), PartKind.SHARED_EXPERTS: ("shared_expert", "shared_experts", "shared_mlp")}
_ROLES = {
    "in_proj_qkvz": ("in_proj_qkvz", "in_proj_qkv"),
    "q_proj": ("q_proj", "qkv_proj", "query_key_value", "Wqkv", "query"),
    "gate_proj": ("gate_proj", "gate_up_proj", "w1"),
    "up_proj": ("up_proj", "gate_up_proj", "w3", "fc1"),
    "down_proj": ("down_proj", "w2", "fc2"),
}
_NO_MATRIX = ("norm", "bias", "norm.weight")
_INDEX = re.compile(r"\.\d+(?=\.|$)")
_GROUP = re.compile(r"\(([^()]*)\)")
_MOST_ALTERNATIVES = 64


class Patterns(msgspec.Struct, frozen=True):
    """What an ignore list says about one layer: names, which cover all below them, and globs, split at their stars."""

    names: frozenset[str] = frozenset()
    globs: tuple[tuple[str, ...], ...] = ()
    whole: bool = False


class Names(msgspec.Struct, frozen=True):
    """The module paths that checkpoints may give a matrix, every name that covers one, and all paths in one text."""

    paths: tuple[str, ...]
    covers: frozenset[str]
    together: str


def parse_patterns(patterns: Iterable[str], pointer: str) -> tuple[Patterns, dict[int, Patterns]]:
    """An ignore list taken apart: what holds for every layer, and what for single ones.

    Raises Invalid for a regular expression of more than wildcards and alternatives.
    """
    everywhere: list[str] = []
    layers: dict[int, list[str]] = {}
    for pattern in patterns:
        if pattern.endswith(_NO_MATRIX):
            continue
        globs = _globs(pattern, pointer) if pattern.startswith("re:") else (pattern,)
        for glob in globs:
            layer, rest = _split(glob)
            if layer is None:
                everywhere.append(glob)
            else:
                layers.setdefault(layer, []).append(rest)
    known: dict[tuple[str, ...], Patterns] = {}
    single: dict[int, Patterns] = {}
    for layer, found in layers.items():
        key = tuple(found)
        if key not in known:
            known[key] = _sorted(found)
        single[layer] = known[key]
    return _sorted(everywhere), single


def joined(first: Patterns, second: Patterns | None) -> Patterns:
    """Both together."""
    if second is None:
        return first
    return Patterns(first.names | second.names, first.globs + second.globs, first.whole or second.whole)


def matches(patterns: Patterns, names: Names) -> bool:
    """Whether one of *patterns* means one of *names* or something around it."""
    if patterns.whole or not patterns.names.isdisjoint(names.covers):
        return True
    return any(_means(pieces, names) for pieces in patterns.globs)


@functools.lru_cache(maxsize=1024)
def names_of(part: PartKind, role: str, *, beside_dense: bool = False) -> Names:
    """The names of a matrix below its layer. Experts *beside* a dense feed-forward do not lie inside it (Gemma 4)."""
    head, _, tail = role.rpartition(".")
    roles = _ROLES.get(tail, (tail,))
    if part in _INSIDE:
        outer = ("",) if beside_dense else ("", *(f"{module}." for module in _FEED_FORWARD))
        modules = [f"{outside}{inside}" for outside in outer for inside in _INSIDE[part]]
    elif part is PartKind.DENSE:
        modules = list(_FEED_FORWARD)
    else:
        modules = [f"{module}.{head}" if head else module for module in _ATTENTION]
    paths = tuple(f"{module}.{each}" for module in modules for each in roles)
    together = "".join(f"\nmodel.{path}." for path in paths)
    return Names(paths, frozenset(cover for path in paths for cover in _covers(path)), together)


def _covers(path: str) -> Iterable[str]:
    """Every run of steps in *path*: a name in an ignore list means all modules that it is part of."""
    steps = path.split(".")
    for start in range(len(steps)):
        for end in range(start + 1, len(steps) + 1):
            yield ".".join(steps[start:end])


def _split(name: str) -> tuple[int | None, str]:
    """The number of the layer that *name* lies in, and the name below it; modules of MTP layers have none."""
    before, found, after = name.partition("layers.")
    if not found or (before and not before.endswith((".", "*"))) or before.startswith("mtp"):
        return None, name
    digits = 0
    while digits < len(after) and digits < 5 and after[digits].isdecimal():
        digits += 1
    if not digits or (digits < len(after) and after[digits] not in ".*"):
        return None, name
    return int(after[:digits]), after[digits:].removeprefix(".")


def _sorted(patterns: Iterable[str]) -> Patterns:
    names: set[str] = set()
    globs: list[tuple[str, ...]] = []
    whole = False
    for pattern in patterns:
        bare = _INDEX.sub("", pattern) if "." in pattern else pattern
        if bare.strip("*.") == "":
            whole = True
        elif "*" in bare:
            globs.append(tuple(bare.split("*")))
        else:
            names.add(bare.removeprefix("model."))
    return Patterns(frozenset(names), tuple(dict.fromkeys(globs)), whole)


def _means(pieces: Sequence[str], names: Names) -> bool:
    if len(pieces) == 3 and not pieces[0] and not pieces[2]:
        return pieces[1] in names.together
    if len(pieces) == 2 and pieces[0] and not pieces[1]:
        return f"\nmodel.{pieces[0]}" in names.together
    return any(_globbed(pieces, path) or _globbed(pieces, f"model.{path}.") for path in names.paths)


def _globbed(pieces: Sequence[str], text: str) -> bool:
    """Wildcard match in linear time: *pieces* are what stands between the stars."""
    first, *middle, last = pieces
    if not text.startswith(first) or not text.endswith(last):
        return False
    place = len(first)
    for piece in middle:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return place <= len(text) - len(last)


def _globs(pattern: str, pointer: str) -> list[str]:
    r"""*pattern* as globs: expressions of literals, `.*`, `\d+` and alternatives are spelled out."""
    text = pattern[3:].strip("^$").replace(r"\.", "\0").replace(r"\d+", "*").replace(".*", "*").replace(".+", "*")
    found = [text.replace("?:", "")]
    while any("(" in each for each in found) and len(found) <= _MOST_ALTERNATIVES:
        found = [choice for each in found for choice in _alternatives(each)]
    globs = [each.replace("\0", ".") for each in found]
    if not globs or len(globs) > _MOST_ALTERNATIVES or any(set(each) & set("()[]{}|+?\\") for each in globs):
        params: Params = {"value": pattern[:64], "known": ["re:.*self_attn.*"]}
        raise Invalid(Fault(code=FaultCode.WRONG_VALUE, pointer=pointer, params=params))
    return [glob.replace("layers.*.", "") for glob in globs]


def _alternatives(text: str) -> list[str]:
    """*text* with its innermost bracket replaced by each of its choices; nothing where brackets do not pair."""
    bracket = _GROUP.search(text)
    if bracket is None:
        return [] if "(" in text else [text]
    return [text[: bracket.start()] + choice + text[bracket.end() :] for choice in bracket[1].split("|")]
