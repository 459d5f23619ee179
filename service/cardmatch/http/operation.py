"""An operation of the API: one path and method, what it takes and gives, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from cardmatch.text.language import Language

KIB, MIB = 1 << 10, 1 << 20


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `takes` is the struct of its body (POST), or of its path and query parameters (GET).

    `answer(world, request, language)` returns a `gives` or raises Invalid. What a `cached` operation answers depends on
    nothing but its URL, the language, the release and the catalogue, so that it carries an ETag.
    `example` is a body, or the parameters of a GET.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    tag: str
    summary: str
    description: str
    takes: Any
    gives: Any
    answer: Callable[[Any, Any, Language], Any]
    example: Any = None
    limit_bytes: int = 64 * KIB
    cached: bool = False


class Versioned(Protocol):
    """A snapshot of the catalogue, as far as the door looks at it: its name, and one for all that it lists."""

    @property
    def version(self) -> str:
        """The hash of its content."""
        ...

    @property
    def tag(self) -> str:
        """Changes whenever an answer to a GET may."""
        ...


World = Callable[[], Versioned]
"""Returns the snapshot to answer from; asked once a request."""
