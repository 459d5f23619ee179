"""What a command line sets, gathered option by option."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Scalar

POINTER = "/workload/engine/args"


class Found:
    """Fields of the engine's options, of the workload and of the layout that a command line sets.

    `without_effect` and `not_considered` are the options as written that change no memory, and those that do in ways
    that are not computed. `needs_checkpoint` is an option, with its value, that 16-bit weights do not start with.
    `assumed` are fields of the workload that the program sets by itself, `origin` says which option set a field.
    """

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.options: dict[str, Any] = {}
        self.workload: dict[str, Any] = {}
        self.layout: dict[str, int] = {}
        self.scratch: dict[str, Any] = {}
        self.without_effect: list[str] = []
        self.not_considered: list[str] = []
        self.needs_checkpoint: tuple[str, str] | None = None
        self.assumed: dict[str, Scalar] = {}
        self.origin: dict[str, tuple[str, str]] = {}


def wrong_value(argument: str, value: str) -> Invalid:
    """The fault of an option whose value cannot be."""
    return Invalid(
        Fault(code=FaultCode.ARGUMENT_WRONG_VALUE, pointer=POINTER, params={"argument": argument, "value": value[:120]})
    )
