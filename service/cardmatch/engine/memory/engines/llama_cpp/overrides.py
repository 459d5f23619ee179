"""Tensors that an override keeps on the host or puts on a GPU (`-ot`)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

# Only single characters and classes may repeat, and few of them, so that matching takes little time whatever is asked.
_REPEATED_GROUP = re.compile(r"\)[*+?{]|\{")
_MOST_REPETITIONS = 3


class Where(StrEnum):
    """Which memory."""

    HOST = "host"
    GPU = "gpu"


class TensorOverride(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tensors whose name matches *pattern* (a regular expression without repeated groups) lie *to*."""

    pattern: Annotated[str, Meta(min_length=1, max_length=400, examples=["blk\\.[0-9]\\.ffn_.*_exps"])]
    to: Where = Where.HOST


def compiled(override: TensorOverride, pointer: str) -> re.Pattern[str]:
    """The pattern, ready to search. Raises Invalid at *pointer* for one that cannot be read or that repeats groups."""
    pattern = override.pattern
    repetitions = sum(pattern.count(sign) for sign in "*+")
    if repetitions > _MOST_REPETITIONS or _REPEATED_GROUP.search(pattern):
        raise Invalid(
            Fault(
                code=FaultCode.ARGUMENT_WRONG_VALUE,
                pointer=pointer,
                params={"argument": "override_tensors", "value": pattern},
            )
        )
    try:
        return re.compile(pattern)
    except re.error:
        fault = Fault(
            code=FaultCode.ARGUMENT_WRONG_VALUE,
            pointer=pointer,
            params={"argument": "override_tensors", "value": pattern},
        )
        raise Invalid(fault) from None
