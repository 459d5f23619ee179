"""Every error as RFC 9457 `application/problem+json`, in the asker's language; its `type` is a page of /docs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.fault import Fault, Invalid
from cardmatch.engine.terms.notice import Params, Scalar
from cardmatch.text.language import Language
from cardmatch.text.problem import Mistake, ProblemType, detail, kind_of, mistake, title

MEDIA_TYPE = b"application/problem+json"
TYPE_PREFIX = "/docs/problems/"

STATUS = {
    ProblemType.NOT_JSON: 400,
    ProblemType.EMPTY_BODY: 400,
    ProblemType.NESTED_TOO_DEEPLY: 400,
    ProblemType.MALFORMED_REQUEST: 400,
    ProblemType.UNAUTHORIZED: 401,
    ProblemType.NOT_FOUND: 404,
    ProblemType.METHOD_NOT_ALLOWED: 405,
    ProblemType.TOO_SLOW: 408,
    ProblemType.TOO_LARGE: 413,
    ProblemType.MEDIA_TYPE: 415,
    ProblemType.BAD_PARAMETER: 422,
    ProblemType.INVALID_REQUEST: 422,
    ProblemType.UNKNOWN_MODEL: 422,
    ProblemType.UNKNOWN_ARCHITECTURE: 422,
    ProblemType.UNKNOWN_CARD: 422,
    ProblemType.CATALOGUE_GONE: 422,
    ProblemType.TOO_MANY_REQUESTS: 429,
    ProblemType.INTERNAL: 500,
    ProblemType.UNAVAILABLE: 503,
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error, as RFC 9457 application/problem+json."""

    type: Annotated[str, Meta(description="URI reference of a page about this kind of problem.")]
    title: Annotated[str, Meta(description="The kind of problem in words.")]
    status: Annotated[int, Meta(ge=400, le=599, description="The HTTP status, again.")]
    detail: Annotated[str, Meta(description="What to do about it.")] = ""
    errors: Annotated[tuple[Mistake, ...], Meta(description="Each thing that is wrong with the request.")] = ()
    suggestions: Annotated[
        tuple[str, ...], Meta(description="What could have been meant, over all errors, likeliest first.")
    ] = ()


class Refused(Exception):  # noqa: N818 - it reads as a statement about the request: `raise Refused(kind)`
    """The request gets no answer but a problem of *kind*; *params* are the figures of its detail."""

    def __init__(self, kind: ProblemType, *faults: Fault, **params: Scalar | list[str]) -> None:
        super().__init__(kind, *(f"{fault.pointer}: {fault.code}" for fault in faults))
        self.kind = kind
        self.faults = faults
        self.params: Params = params


def refusal(invalid: Invalid) -> Refused:
    """The refusal of a request that no answer can be found for."""
    return Refused(kind_of(invalid.faults), *invalid.faults)


def problem(refused: Refused, language: Language) -> Problem:
    """What *refused* says, in *language*."""
    errors = tuple(mistake(fault, language) for fault in refused.faults)
    return Problem(
        type=TYPE_PREFIX + refused.kind,
        title=title(refused.kind, language),
        status=STATUS[refused.kind],
        detail=detail(refused.kind, refused.params, language),
        errors=errors,
        suggestions=tuple(dict.fromkeys(name for error in errors for name in error.suggestions)),
    )
