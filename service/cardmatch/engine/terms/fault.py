"""What is wrong with a request: a code, where, and what would be right. Words come from the `text` room."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cardmatch.engine.terms.notice import Params


class FaultCode(StrEnum):
    """Every reason for refusing a request. `text/` has one sentence per code and language."""

    HEADS_NOT_DIVISIBLE = "heads_not_divisible"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with a request."""

    code: FaultCode
    pointer: str
    params: Params = {}
    suggestions: tuple[str, ...] = ()


class Invalid(Exception):  # noqa: N818 - it reads as a statement about the request: `raise Invalid(fault)`
    """The request cannot be answered; *faults* say why, each with a JSON pointer relative to the value judged."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(", ".join(f"{fault.pointer}: {fault.code}" for fault in faults))
        self.faults = faults

    def under(self, prefix: str) -> Invalid:
        """The same faults, with *prefix* before each pointer."""
        return Invalid(*(msgspec.structs.replace(fault, pointer=prefix + fault.pointer) for fault in self.faults))
