"""Following a path into a decoded body and its type at once: which member, which of a union, which key of a map.

msgspec says where a body does not fit as `$.cards[0].layout`, with `[...]` for any value of a map. People need a JSON
Pointer (RFC 6901) to the very member, and the choices that they had there, so both are looked up on this slow path.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

_LONGEST_NAME = 200
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


class Place(msgspec.Struct, frozen=True):
    """Where a path leads: a JSON Pointer, the value that was sent there, and the type that belongs there."""

    pointer: str
    value: Any
    kind: inspect.Type | None

    def fields(self) -> list[str]:
        """The members that an object may have here, its tag first."""
        if not isinstance(self.kind, inspect.StructType):
            return []
        tag = [self.kind.tag_field] if self.kind.tag_field else []
        return tag + [field.encode_name for field in self.kind.fields]

    def member(self, name: str) -> str:
        """The pointer of the member *name* of the object here; of the object itself where the name is absurdly long."""
        return f"{self.pointer}/{_escape(name)}" if len(name) <= _LONGEST_NAME else self.pointer


def follow(path: str, body: Any, annotation: Any) -> Place:
    """Where msgspec's *path* (`.cards[0].layout`) leads in *body*, which does not fit *annotation*."""
    place = Place("", body, _narrow(_type(annotation), body))
    for name, index in _STEP.findall(path):
        place = _into_map(place, body, annotation) if index == "..." else _into(place, name or int(index))
    return place


def choices(kind: inspect.Type | None) -> list[Any]:
    """The values that an enumeration, a literal or a tag of the kinds in a union may take."""
    if isinstance(kind, inspect.UnionType):
        return [choice for part in kind.types for choice in choices(part)]
    if isinstance(kind, inspect.EnumType):
        return [member.value for member in kind.cls]
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    return []


@cache
def _type(annotation: Any) -> inspect.Type:
    return inspect.type_info(annotation)


def _escape(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def _narrow(kind: inspect.Type | None, value: Any) -> inspect.Type | None:
    """The part of a union that *value* chose, where it shows: by its JSON type and, among objects, by its tag."""
    if isinstance(kind, inspect.Metadata):
        return _narrow(kind.type, value)
    if not isinstance(kind, inspect.UnionType):
        return kind
    parts = [part for part in kind.types if _may_be(part, value)]
    return parts[0] if len(parts) == 1 else kind


def _may_be(kind: inspect.Type, value: Any) -> bool:
    if isinstance(value, dict):
        if isinstance(kind, inspect.StructType):
            return kind.tag_field is None or value.get(kind.tag_field) == kind.tag
        return isinstance(kind, inspect.DictType)
    if isinstance(value, list):
        return isinstance(kind, inspect.ListType | inspect.VarTupleType | inspect.TupleType)
    return False


def _into(place: Place, step: str | int) -> Place:
    value = place.value
    try:
        inner = value[step]
    except (LookupError, TypeError):
        inner = None
    return Place(place.member(str(step)), inner, _narrow(_child(place.kind, step), inner))


def _child(kind: inspect.Type | None, step: str | int) -> inspect.Type | None:
    if isinstance(kind, inspect.UnionType):  # no part was chosen, so the step names their tag
        tags = [part.tag for part in kind.types if isinstance(part, inspect.StructType) and part.tag_field == step]
        return inspect.LiteralType(tuple(tag for tag in tags if tag is not None))
    if isinstance(kind, inspect.StructType):
        if step == kind.tag_field:
            return inspect.LiteralType((kind.tag,) if kind.tag is not None else ())
        return next((field.type for field in kind.fields if field.encode_name == step), None)
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return kind.item_type
    if isinstance(kind, inspect.TupleType) and isinstance(step, int) and step < len(kind.item_types):
        return kind.item_types[step]
    return kind.value_type if isinstance(kind, inspect.DictType) else None


def _into_map(place: Place, body: Any, annotation: Any) -> Place:
    """The member of the map at *place* that does not fit: the last of the shortest run of members that does not."""
    items = list(place.value.items()) if isinstance(place.value, dict) else []
    fits, fails = 0, len(items)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        place.value.clear()
        place.value.update(items[:middle])
        fits, fails = (fits, middle) if _misfits(body, annotation) else (middle, fails)
    if not items:
        return place
    place.value.clear()
    place.value.update(items)
    return _into(place, items[fails - 1][0])


def _misfits(body: Any, annotation: Any) -> bool:
    try:
        msgspec.convert(body, annotation)
    except msgspec.ValidationError:
        return True
    return False
