"""From what somebody calls a model to the catalogue's row of it, and the number format that the name carries."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec
from rapidfuzz import fuzz, process

from cardmatch.catalogue.models import ModelNames, ModelRow
from cardmatch.catalogue.names.words import bare_size, fold, words
from cardmatch.engine.models.gguf_mix import mix_name
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

MOST_SUGGESTIONS = 6
_LEAST_SCORE = 55.0

# What mirrors put behind a model's name for the format that they store it in, most specific first.
_FORMATS: tuple[tuple[str, str], ...] = (
    (r"gptq[-_ ]?(int)?8(bit)?|8bit[-_ ]gptq", "gptq_int8"),
    (r"gptq([-_ ]?(int)?4(bit)?)?|4bit[-_ ]gptq", "gptq_int4"),
    (r"awq([-_ ]?(int)?4(bit)?)?|4bit[-_ ]awq", "awq_int4"),
    (r"(unsloth[-_ ])?bnb[-_ ]4bit|nf4", "nf4"),
    (r"bnb[-_ ]8bit|int8|w8a8|8[-_ ]?bits?", "int8"),
    (r"fp8[-_ ]dynamic|fp8|w8a8[-_ ]fp8", "fp8"),
    (r"(quantized[.])?w4a16|int4|4[-_ ]?bits?", "w4a16"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|f16", "fp16"),
)
_SUFFIXES = tuple((re.compile(rf"[-_ .]({pattern})$", re.IGNORECASE), name) for pattern, name in _FORMATS)
_GGUF = re.compile(r"[-_ .](i\d-)?gguf$", re.IGNORECASE)
_GGUF_TYPE = re.compile(r"[-_ .:]((?:ud-)?i?q\d(?:_[0-9a-z]+){0,3}|mxfp4_moe)$", re.IGNORECASE)
# A repository of GGUF files holds several types; this is the one that tools download when nothing else is said.
_USUAL_GGUF = "gguf:Q4_K_M"
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
    name = fold(text)
    size = bare_size(text)
    if size is not None:
        return _of_size(known, text, size)
    bare, weights = _without_format(name)
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


def _without_format(name: str) -> tuple[str, str | None]:
    """*name* without the format behind it, and that format."""
    bare = _GGUF.sub("", name)
    stated = _GGUF_TYPE.search(bare)
    if stated is not None and stated.start() > 0 and mix_name(stated[1]) is not None:
        return _GGUF.sub("", bare[: stated.start()]), f"gguf:{stated[1].upper()}"
    if bare != name:
        return bare, _USUAL_GGUF
    for pattern, weights in _SUFFIXES:
        bare = pattern.sub("", name)
        if bare != name:
            return bare, weights
    return name, None


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
    """The model whose name holds every word of *name* and the fewest others. Raises Invalid."""
    asked = frozenset(words(_in_latin(known, name)))
    fitting = sorted((_extra(bag - asked), id_) for id_, bag in known.bags if asked and asked <= bag)
    if not fitting:
        raise Invalid(
            Fault(code=FaultCode.UNKNOWN_MODEL, pointer="", params={"name": text}, suggestions=_near(known, name))
        )
    best = [id_ for extra, id_ in fitting if extra == fitting[0][0]]
    if len(best) > 1:
        suggestions = tuple(best[:MOST_SUGGESTIONS])
        raise Invalid(Fault(code=FaultCode.AMBIGUOUS_MODEL, pointer="", params={"name": text}, suggestions=suggestions))
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
