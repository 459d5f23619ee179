"""What a document takes away from an earlier one: operations, fields, words, room for figures, certainty of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_LOW = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_HIGH = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
GROWING = ("NoticeCode", "FaultCode", "QuestionCode", "Component", "Rule")
"""Vocabularies of answers to which releases may add."""


def narrowings(old: Schema, new: Schema) -> list[str]:
    """Each place where a client of document *old* could be refused, or miss something, by a server of *new*."""
    found: list[str] = []
    for path, methods in old["paths"].items():
        for method, before in methods.items():
            after = new["paths"].get(path, {}).get(method)
            at = f"{method.upper()} {path}"
            found += [f"{at} is gone"] if after is None else _Comparison(old, new).operation(at, before, after)
    return found


class _Comparison:
    """Two documents side by side; a pair of schemas is looked at once in each direction."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self.seen: set[tuple[str, str, bool]] = set()

    def operation(self, at: str, old: Schema, new: Schema) -> list[str]:
        """What *new* takes away from the operation *old*."""
        found = list(self._parameters(at, old, new))
        if "requestBody" in old:
            found += self._pair(f"{at} takes", *(_json(each["requestBody"]) for each in (old, new)), given=False)
        return found + list(
            self._pair(f"{at} gives", *(_json(each["responses"]["200"]) for each in (old, new)), given=True)
        )

    def _parameters(self, at: str, old: Schema, new: Schema) -> Iterator[str]:
        before, after = ({each["name"]: each for each in of.get("parameters", [])} for of in (old, new))
        for name in after.keys() - before.keys():
            if after[name]["required"]:
                yield f"{at}: {name} must now be given"
        for name, parameter in before.items():
            if name not in after:
                yield f"{at}: {name} is gone"
            else:
                yield from self._pair(f"{at}: {name}", parameter["schema"], after[name]["schema"], given=False)

    def _pair(self, at: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        """Compare two schemas; what is *given* may become narrower, what is taken may become wider."""
        names = (old.get("$ref", ""), new.get("$ref", ""), given)
        if any(names[:2]):
            if names in self.seen:
                return
            self.seen.add(names)
        old, new = _resolved(old, self.old), _resolved(new, self.new)
        if "anyOf" in old or "anyOf" in new:
            yield from self._alternatives(at, old, new, given=given)
            return
        if old.get("type") != new.get("type"):
            yield f"{at} was {old.get('type')} and is {new.get('type')}"
            return
        yield from _words(at, old, new, given=given)
        yield from () if given else _room(at, old, new)
        yield from self._fields(at, old, new, given=given)
        for part in ("items", "additionalProperties"):
            if isinstance(old.get(part), dict) and isinstance(new.get(part), dict):
                yield from self._pair(f"{at}/*", old[part], new[part], given=given)

    def _fields(self, at: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        must, must_now = set(old.get("required", [])), set(new.get("required", []))
        yield from (f"{at}/{name} is not sure any more" for name in sorted(must - must_now) if given)
        yield from (f"{at}/{name} must now be given" for name in sorted(must_now - must) if not given)
        for name, schema in before.items():
            if name not in after:
                yield f"{at}/{name} is gone"
            else:
                yield from self._pair(f"{at}/{name}", schema, after[name], given=given)

    def _alternatives(self, at: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        """Of each kind that could be taken one must be left; of those that are given, each must have been known."""
        before = {_kind(each, self.old): each for each in _kinds(old)}
        after = {_kind(each, self.new): each for each in _kinds(new)}
        lost = after.keys() - before.keys() if given else before.keys() - after.keys()
        yield from (f"{at}: {kind} is {'new' if given else 'gone'}" for kind in sorted(lost))
        for kind in before.keys() & after.keys():
            yield from self._pair(f"{at}({kind})", before[kind], after[kind], given=given)


def _json(described: Schema) -> Schema:
    (content,) = described["content"].values()
    found: Schema = content["schema"]
    return found


def _resolved(schema: Schema, document: Schema) -> Schema:
    found: Schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _kinds(schema: Schema) -> list[Schema]:
    return [part for each in schema.get("anyOf", [schema]) for part in (_kinds(each) if "anyOf" in each else [each])]


def _kind(schema: Schema, document: Schema) -> str:
    """What tells an alternative apart: its tag, else its type, words apart from free text."""
    found = _resolved(schema, document)
    tags = [f"{name}={each['const']}" for name, each in found.get("properties", {}).items() if "const" in each]
    return tags[0] if tags else f"{found.get('type', 'anything')}{' of words' if 'enum' in found else ''}"


def _words(at: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
    before, after = (set(of.get("enum", [of["const"]] if "const" in of else [])) for of in (old, new))
    if given:
        if before and old.get("title") not in GROWING:
            yield from (f"{at}: “{word}” is new" for word in sorted(after - before))
    elif after:
        yield from (f"{at}: “{word}” is gone" for word in sorted(before - after))
        yield from [] if before else [f"{at} takes only some words now"]


def _room(at: str, old: Schema, new: Schema) -> Iterator[str]:
    for limits, sign in ((_LOW, 1), (_HIGH, -1)):
        for limit in limits:
            if limit in new and (limit not in old or sign * new[limit] > sign * old[limit]):
                yield f"{at}: {limit} was {old.get(limit)} and is {new[limit]}"
    if new.get("pattern") not in {None, old.get("pattern")}:
        yield f"{at}: its pattern is another"
