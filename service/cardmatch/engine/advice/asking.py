"""A request that is changed to see what would become of a card: the changes, and what must be asked on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.advice.answer import Setting
from cardmatch.engine.advice.fate import Fate
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.inference import Inference


class Asking(NamedTuple):
    """A request as far as it is changed here; *workload* is null where nothing of it is."""

    wanted: Wanted
    workload: Inference | None

    def constrained(self, **fields: Any) -> Asking:
        """With *fields* of its constraints set."""
        constraints = msgspec.structs.replace(self.wanted.constraints, **fields)
        return self._replace(wanted=msgspec.structs.replace(self.wanted, constraints=constraints))

    def allowed(self, **fields: Any) -> Asking:
        """With *fields* of what the search may choose set."""
        allow = msgspec.structs.replace(self.wanted.allow, **fields)
        return self._replace(wanted=msgspec.structs.replace(self.wanted, allow=allow))

    def loaded(self, **fields: Any) -> Asking:
        """With *fields* of its load set."""
        load = msgspec.structs.replace(self.wanted.load, **fields) if self.wanted.load else None
        return self._replace(wanted=msgspec.structs.replace(self.wanted, load=load))


FateUnder = Callable[[Asking, str], Fate]
"""What becomes of a card under a changed request."""

Targets = Callable[[Asking, Fate], dict[str, float]]
"""The targets of a load that one copy of the form that was tried misses, with what it would meet."""

Spilling = Callable[[Asking, Fate], dict[str, float] | None]
"""The same where the rest of the weights lies in RAM; null where that is no help."""


class Room(NamedTuple):
    """How many of a card's machines the weights take at least, and whether only the cache is too large for one."""

    nodes: int
    short_of_cache: bool


Rooms = Callable[[Asking, str, Fate], Room]

Engines = Callable[[str], tuple[AnyEngine, ...]]
"""Other engines, at their defaults, that run on a card."""

Openings = Callable[[Asking, str], Iterator[dict[str, Any]]]
"""Fields of the constraints that would let an offer of a card in, nearest first."""


class Step(NamedTuple):
    """Fields set, and the request with them; *sure* are those that need no trying."""

    settings: tuple[Setting, ...]
    asking: Asking
    sure: bool = False


class Ways(NamedTuple):
    """What is needed to find a way back; *lengths* are the prompt and output tokens that were reckoned with.

    *sure*: where a copy runs in time, nothing else keeps its card out.
    """

    fate: FateUnder
    targets: Targets
    openings: Openings
    engines: Engines
    spilled: Spilling
    room: Rooms
    lengths: tuple[int, int] = (1, 1)
    sure: bool = False


def constraint_settings(fields: dict[str, Any]) -> tuple[Setting, ...]:
    """*fields* of the constraints as settings."""
    return tuple(
        [
            Setting(pointer=f"/constraints/{field}", value=list(value) if isinstance(value, tuple) else value)
            for field, value in fields.items()
        ]
    )
