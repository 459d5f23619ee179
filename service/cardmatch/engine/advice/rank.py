"""The options that no other beats on every axis, best first."""

from __future__ import annotations

import bisect
import math
import operator

from cardmatch.engine.advice.choice import Axes, Choice


def beats(one: Axes, other: Axes) -> bool:
    """Whether *one* is at least as good on every axis and better on one."""
    return one != other and all(map(operator.le, one, other))


class Skyline:
    """Choices of which none beats another, in order; of equal ones the first by name stays."""

    def __init__(self, limit: int) -> None:
        """At most *limit* of them will be asked for."""
        self._limit = limit
        self._kept: list[Choice] = []
        self._edge: float | None = math.inf

    def add(self, choice: Choice) -> None:
        """Take *choice* in, unless another beats it; put out what it beats."""
        axes = choice.axes
        for kept in self._kept:
            if kept.axes == axes:
                if kept.key <= choice.key:
                    return
            elif beats(kept.axes, axes):
                return
        self._kept = [kept for kept in self._kept if not beats(axes, kept.axes) and kept.axes != axes]
        bisect.insort(self._kept, choice, key=lambda each: each.key)
        self._edge = None

    def full_below(self, bound: float) -> bool:
        """Whether as many as asked for have an objective below *bound*, so that nothing from there on is shown."""
        if self._edge is None:
            shown = self.options()
            self._edge = shown[-1].axes.objective if len(shown) >= self._limit else math.inf
        return self._edge < bound

    def options(self) -> tuple[Choice, ...]:
        """The best, at most as many as asked for; of one card at one objective only the first."""
        found: dict[tuple[str, float], Choice] = {}
        for kept in self._kept:
            found.setdefault((kept.tried.form.card.id, kept.axes.objective), kept)
            if len(found) == self._limit:
                break
        return tuple(found.values())


class Everything:
    """Choices as they come, beaten or not."""

    def __init__(self) -> None:
        """None yet."""
        self.choices: list[Choice] = []

    def add(self, choice: Choice) -> None:
        """Keep *choice*."""
        self.choices.append(choice)
