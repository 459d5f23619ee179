"""From what somebody calls a model to the catalogue's row of it, and the number format that the name carries."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import msgspec
from rapidfuzz import fuzz, process

from cardmatch.catalogue.models import ModelNames, ModelRow
from cardmatch.catalogue.names.formats import without_format
from cardmatch.catalogue.names.words import bare_size, changes_identity, fold, words
from cardmatch.engine.memory.remember import Same
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

MOST_SUGGESTIONS = 6
_LEAST_SCORE = 55.0

_NEAREST_SIZE = 0.15

# Words that every chat model carries, and words that a query leaves out more often than not.
_USUAL = frozenset({"instruct", "chat", "it", "hf"})
_QUANTISED = frozenset({"fp8", "nvfp4", "awq", "gptq", "int4", "int8", "w4a16"})


class Match(StrEnum):
    """How a name was understood, surest first."""

    ID = "id"
    ALIAS = "alias"
    SAME_SHAPE = "same_shape"
    LOOSE = "loose"
    FAMILY = "family"
    SIZE = "size"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a name means; *weights* where the name says a format that the row itself is not in."""

    id: str
    match: Match
    weights: str | None = None
    size: str | None = None


class ModelIndex(msgspec.Struct, frozen=True, kw_only=True):
    """Every spelling, folded, ready to be looked up."""

    names: ModelNames
    exact: dict[str, Found]
    last_parts: dict[str, Found]
    bags: tuple[tuple[str, frozenset[str]], ...]
    families: tuple[tuple[str, str, str], ...]
    sizes: dict[float, str]


def index(models: dict[str, ModelRow], names: ModelNames) -> ModelIndex:
    """Index the ids of *models* and their *names*; names of what was left out of the catalogue are nobody's."""
    exact = {
        fold(like): Found(id=id_, match=Match.SAME_SHAPE) for like, id_ in names.same_shape.items() if id_ in models
    }
    exact |= {
        fold(name): Found(id=alias.id, match=Match.ALIAS, weights=alias.checkpoint)
        for name, alias in names.aliases.items()
        if alias.id in models
    }
    exact |= {fold(id_): Found(id=id_, match=Match.ID) for id_ in models}
    spoken = [
        (fold(name), key, row.default)
        for key, row in names.families.items()
        if row.default in models
        for name in (key, *row.names)
    ]
    return ModelIndex(
        names=names,
        exact=exact,
        last_parts=_last_parts(exact),
        bags=tuple((id_, frozenset(words(id_))) for id_ in models),
        families=tuple(sorted(spoken, key=lambda row: -len(row[0]))),
        sizes={float(name[:-1]) * (1000 if name.endswith("T") else 1): name for name in names.sizes},
    )


def resolve_model_name(known: ModelIndex, text: str) -> Found:
    """The model that *text* means. Raises Invalid: unknown_model or ambiguous_model, with suggestions."""
    return resolved(Same(known), text)


@lru_cache(maxsize=2048)  # the same names come again and again, and searching takes longer than the answer
def resolved(index_of_names: Same[ModelIndex], text: str) -> Found:
    """As `resolve_model_name`, which remembers what it found; what it refuses is searched for each time."""
    known, name = index_of_names.of, fold(text)
    size = bare_size(text)
    if size is not None:
        return _of_size(known, text, size)
    bare, weights = without_format(name)
    found = known.exact.get(name) or known.last_parts.get(_last(name))
    if found is None and bare != name:
        found = known.exact.get(bare) or known.last_parts.get(_last(bare))
        found = found and msgspec.structs.replace(found, weights=weights)
    return (
        found or _family(known, bare, weights) or _mirrored(known, bare, weights) or _loose(known, text, bare, weights)
    )


def matching(known: ModelIndex, query: str) -> frozenset[str]:
    """The ids whose names, or whose aliases, hold every word of *query*."""
    asked = frozenset(words(_in_latin(known, fold(query))))
    ids = {id_ for id_, bag in known.bags if asked <= bag}
    held = {id_ for id_, _ in known.bags}
    ids |= {row.id for name, row in known.names.aliases.items() if row.id in held and asked <= frozenset(words(name))}
    return frozenset(ids if asked else ())


def names_of(known: ModelIndex, id_: str) -> tuple[str, ...]:
    """Other repositories of the model *id_*, as their publishers spell them."""
    return tuple(name for name, row in known.names.aliases.items() if row.id == id_)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _last_parts(exact: dict[str, Found]) -> dict[str, Found]:
    """Names without their publisher, where that leaves one model."""
    parts: dict[str, Found | None] = {}
    for name, found in exact.items():
        last = _last(name)
        other = parts.setdefault(last, found)
        if other is not None and other.id != found.id:
            parts[last] = found if found.match is Match.ID and other.match is not Match.ID else other
            if found.match is Match.ID and other.match is Match.ID:
                parts[last] = None
    return {name: found for name, found in parts.items() if found is not None}


def _of_size(known: ModelIndex, text: str, size: float) -> Found:
    nearest = min(known.sizes, key=lambda each: abs(each - size))
    if abs(nearest - size) > _NEAREST_SIZE * size:
        near = sorted(known.sizes, key=lambda each: abs(each - size))[:MOST_SUGGESTIONS]
        suggestions = tuple(known.sizes[each] for each in sorted(near))
        raise Invalid(Fault(code=FaultCode.UNKNOWN_MODEL, pointer="", params={"name": text}, suggestions=suggestions))
    name = known.sizes[nearest]
    return Found(id=known.names.sizes[name].reference, match=Match.SIZE, size=name)


def _family(known: ModelIndex, name: str, weights: str | None) -> Found | None:
    for spoken, _, default in known.families:
        if name == spoken:
            return Found(id=default, match=Match.FAMILY, weights=weights)
    return None


def _mirrored(known: ModelIndex, name: str, weights: str | None) -> Found | None:
    """The model that a repository of another publisher mirrors: the same words, but for those that are left out."""
    _, slash, last = name.rpartition("/")
    asked = frozenset(words(last))
    if not slash or not asked:
        return None
    same = [id_ for id_, _ in known.bags if (bag := frozenset(words(_last(id_)))) >= asked and bag - asked <= _USUAL]
    return Found(id=min(same, key=len), match=Match.LOOSE, weights=weights) if same else None


def _loose(known: ModelIndex, text: str, name: str, weights: str | None) -> Found:
    """The model whose name holds every word of *name* and the fewest others. Raises Invalid.

    A word that makes it another model is never added, and a repository's full name is never loosened.
    """
    asked = frozenset(words(_in_latin(known, name)))
    holding = sorted((_extra(bag - asked), id_) for id_, bag in known.bags if asked and asked <= bag)
    fitting = [(extra, id_) for extra, id_ in holding if "/" not in name and not changes_identity(id_, name)]
    best = [id_ for extra, id_ in fitting or holding if extra == (fitting or holding)[0][0]]
    if len(best) > 1 and (fitting or "/" not in name):
        suggestions = tuple(best[:MOST_SUGGESTIONS])
        raise Invalid(Fault(code=FaultCode.AMBIGUOUS_MODEL, pointer="", params={"name": text}, suggestions=suggestions))
    if not fitting:
        suggestions = tuple(dict.fromkeys((*(id_ for _, id_ in holding), *_near(known, name))))[:MOST_SUGGESTIONS]
        raise Invalid(Fault(code=FaultCode.UNKNOWN_MODEL, pointer="", params={"name": text}, suggestions=suggestions))
    return Found(id=best[0], match=Match.LOOSE, weights=weights)


def _in_latin(known: ModelIndex, name: str) -> str:
    """*name* with an everyday Chinese family name spelt as the hub does."""
    for spoken, family, _ in known.families:
        if not spoken.isascii() and spoken in name:
            return name.replace(spoken, f" {family} ")
    return name


def _extra(rest: frozenset[str]) -> tuple[int, int]:
    """How far a candidate goes beyond the query: other words first, usual ones last; a quantised copy comes late."""
    unusual = rest - _USUAL
    return len(unusual) + 2 * len(unusual & _QUANTISED), -len(rest & _USUAL)


def _near(known: ModelIndex, name: str) -> tuple[str, ...]:
    ids = [id_ for id_, _ in known.bags]
    found = process.extract(
        name, ids, scorer=fuzz.WRatio, processor=fold, limit=MOST_SUGGESTIONS, score_cutoff=_LEAST_SCORE
    )
    return tuple(id_ for id_, _, _ in found)
