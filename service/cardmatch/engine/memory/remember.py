"""Keys for what is remembered between requests: `functools.lru_cache` compares arguments, and these say how."""

from __future__ import annotations

from typing import Generic, TypeVar

from cardmatch.engine.models.architecture import Architecture

T = TypeVar("T")

_MOST_LAYERS, _MOST_GROUPS = 256, 32


class Same(Generic[T]):
    """An object that equals itself alone: comparing architectures costs more than what is remembered of them."""

    __slots__ = ("of",)

    def __init__(self, of: T) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.of is self.of


class Beside(Generic[T]):
    """An argument that is no part of the key, because the others say all of it that counts."""

    __slots__ = ("of",)

    def __init__(self, of: T) -> None:
        self.of = of

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beside)


def is_small(architecture: Architecture) -> bool:
    """Whether remembering *architecture* costs little: callers may send their own, thousands of layers long."""
    return len(architecture.layer_order) <= _MOST_LAYERS and len(architecture.layer_groups) <= _MOST_GROUPS
