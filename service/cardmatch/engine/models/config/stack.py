"""Layers that are alike become one group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from cardmatch.engine.models.architecture import LayerGroup

Key = TypeVar("Key")


def stack(keys: Iterable[Key], build: Callable[[Key], LayerGroup]) -> tuple[tuple[LayerGroup, ...], tuple[int, ...]]:
    """Groups and layer order for layers told apart by *keys*, each different one built once."""
    index: dict[Key, int] = {}
    order = tuple(index.setdefault(key, len(index)) for key in keys)
    return tuple(build(key) for key in index), order
