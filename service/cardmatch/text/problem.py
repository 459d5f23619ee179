"""The kinds of problem that an error may be, and the words of one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.fault import Fault, FaultCode
from cardmatch.text.language import Language
from cardmatch.text.sentences import say
from cardmatch.text.units import Value


class ProblemType(StrEnum):
    """What the `type` of a problem ends in; docs/notices.md has a section for each."""

    NOT_JSON = "not_json"  # position: the byte at which the body stops being JSON
    EMPTY_BODY = "empty_body"
    NESTED_TOO_DEEPLY = "nested_too_deeply"
    MALFORMED_REQUEST = "malformed_request"
    BAD_PARAMETER = "bad_parameter"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"  # allowed: the methods
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"  # limit_bytes
    MEDIA_TYPE = "media_type"
    INVALID_REQUEST = "invalid_request"
    UNKNOWN_MODEL = "unknown_model"
    UNKNOWN_ARCHITECTURE = "unknown_architecture"
    UNKNOWN_CARD = "unknown_card"
    CATALOGUE_GONE = "catalogue_gone"
    TOO_MANY_REQUESTS = "too_many_requests"  # retry_after_seconds
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"


class Mistake(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing wrong with a request, in words."""

    code: Annotated[FaultCode, Meta(description="What is wrong, for programs.")]
    pointer: Annotated[
        str,
        Meta(description="JSON Pointer (RFC 6901) into the body; for a GET, into its parameters taken as one object."),
    ]
    detail: Annotated[str, Meta(description="What is wrong there and what would be right.")]
    suggestions: Annotated[tuple[str, ...], Meta(description="What could have been meant, likeliest first.")] = ()


def title(kind: ProblemType, language: Language) -> str:
    """The sentence that every problem of this kind carries."""
    return say("problems", kind, {}, language)


def detail(kind: ProblemType, params: Mapping[str, Value], language: Language) -> str:
    """What to do about this occurrence of it. Raises KeyError where a parameter is missing."""
    return say("details", kind, params, language)


def kind_of(faults: tuple[Fault, ...]) -> ProblemType:
    """The kind of problem that *faults* are together: their own where they share one, else an invalid request."""
    codes = {fault.code.value for fault in faults}
    only = codes.pop() if len(codes) == 1 else ""
    return _OF_FAULTS.get(only, ProblemType.INVALID_REQUEST)


_OF_FAULTS = {
    "unknown_model": ProblemType.UNKNOWN_MODEL,
    "unknown_pipeline": ProblemType.UNKNOWN_MODEL,
    "unknown_architecture": ProblemType.UNKNOWN_ARCHITECTURE,
    "unknown_card": ProblemType.UNKNOWN_CARD,
    "catalogue_gone": ProblemType.CATALOGUE_GONE,
}


def mistake(fault: Fault, language: Language) -> Mistake:
    """*fault* in words; its sentence may name the suggestions."""
    params = {**fault.params, "suggestions": list(fault.suggestions)}
    return Mistake(
        code=fault.code,
        pointer=fault.pointer,
        detail=say("faults", fault.code, params, language),
        suggestions=fault.suggestions,
    )
