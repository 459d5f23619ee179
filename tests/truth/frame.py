"""What a family of cases must bring, and what scoring it yields."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from tests.truth.cases import Case
from tests.truth.world import TruthWorld


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One predicted figure beside the measured one, in the same unit. Exact predictions have no band.

    `absolute` compares by difference instead of ratio.
    """

    group: str
    predicted: float
    measured: float
    low: float | None = None
    high: float | None = None
    absolute: bool = False

    @property
    def error(self) -> float:
        """Predicted over measured less one, or the difference."""
        difference = self.predicted - self.measured
        return difference if self.absolute else difference / self.measured

    @property
    def covered(self) -> bool | None:
        """Whether the measured figure lies in the band; None where there is no band."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a row whose outcome is known."""

    verdict: str
    outcome: str
    offloaded: bool = False


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared for one row."""

    case: Case
    figures: tuple[Figure, ...]
    judged: Judged | None = None


class LeaveOut(StrEnum):
    """What is left out of the fit that predicts a row: all rows of its source, or of its model or card."""

    SOURCE = "source"
    SOURCE_OR_CARD = "source (a framework with one source: card)"
    LARGE_SOURCE = "source (small ones in lots)"
    MODEL = "model"
    CARD = "card"
    NOTHING = "row (no fit has seen any)"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark of the design: met, missed, or not judged (None) because too few rows speak to it."""

    name: str
    figure: str
    wanted: str
    met: bool | None


class Family(Protocol):
    """A family of cases. What `prepare` returns is the family's own; `fit` may return anything that `score` takes.

    One that is `beside` is printed and not marked; one that has `completed` adds to rows what they leave open.
    """

    name: str
    leave_out: LeaveOut

    def prepare(self, case: Case, world: TruthWorld) -> Any:
        """The row as a request. Raises Skipped with the reason."""

    def fit(self, prepared: Sequence[Any], world: TruthWorld) -> Any:
        """Constants from *prepared* rows."""

    def score(self, prepared: Any, fitted: Any) -> Scored:
        """The row's figures as predicted with *fitted*. Raises Skipped."""

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """The design's marks on rows scored with fits that left them out."""
