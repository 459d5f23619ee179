"""Which structs requests are made of, and which of them stand in answers alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import inspect


def structs(kinds: Iterable[Any]) -> set[Any]:
    """The struct classes of *kinds* (structs, or unions of them), however deep they stand."""
    seen: set[Any] = set()
    waiting = list(inspect.multi_type_info(kinds))
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, inspect.StructType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
            waiting.extend(field.type for field in kind.fields)
        waiting.extend(part for name in ("type", "item_type", "key_type", "value_type") if (part := _of(kind, name)))
        for name in ("types", "item_types"):
            waiting.extend(getattr(kind, name, ()))
    return seen


def _of(kind: inspect.Type, name: str) -> inspect.Type | None:
    part = getattr(kind, name, None)
    return part if isinstance(part, inspect.Type) else None
