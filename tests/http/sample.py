"""A small API with every shape that a request can have, so that the door is tested apart from the domain."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.http.door import Door
from cardmatch.http.operation import Operation
from cardmatch.http.router import build
from cardmatch.settings import Settings
from cardmatch.text.language import Language


class Format(StrEnum):
    """A closed vocabulary."""

    FP16 = "fp16"
    INT8 = "int8"


class ById(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="id", tag_field="kind"):
    """A thing by name."""

    id: Annotated[str, Meta(min_length=1, max_length=8, pattern=r"^[a-z0-9-]+$(?!\n)")]


class ByShape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="shape", tag_field="kind"):
    """A thing by its figures."""

    layers: Annotated[int, Meta(ge=1, le=100)]
    ratio: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    kv_heads: Annotated[int, Meta(ge=1, le=64)] | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every shape of field."""

    model: Annotated[str, Meta(min_length=1, max_length=8)] | ById | ByShape
    format: Format = Format.FP16
    mode: Literal["fast", "slow"] = "fast"
    batch: Annotated[int, Meta(ge=1, le=4096)] = 1
    step: Annotated[int, Meta(ge=4, le=64, multiple_of=4)] = 4
    share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    stream: bool = False
    tags: Annotated[tuple[Annotated[str, Meta(max_length=3)], ...], Meta(max_length=2)] = ()
    pair: tuple[int, str] | None = None
    counts: Annotated[
        dict[Annotated[str, Meta(max_length=9)], Annotated[int, Meta(ge=0, le=9)]], Meta(max_length=4)
    ] = {}
    config: dict[str, Any] | None = None
    on: dt.date | None = None
    fail: Literal["invalid", "crash", "recurse"] | None = None
    language: Language | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What was understood."""

    batch: Annotated[int, Meta(ge=1, le=4096)]
    share: Annotated[float, Meta(ge=0, le=1)]
    stream: bool
    language: Language


class Thing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which thing to show."""

    thing_id: Annotated[str, Meta(min_length=1, max_length=40, description="The id of the thing.")]
    limit: Annotated[int, Meta(ge=1, le=10, description="How many.")] = 5
    tags: Annotated[tuple[str, ...], Meta(max_length=3, description="Only these.")] = ()
    exact: Annotated[bool | None, Meta(description="Whether exactly.")] = None
    language: Annotated[Language | None, Meta(description="The language of the answer.")] = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A thing."""

    thing_id: str
    limit: int
    tags: tuple[str, ...]


class Snapshot(msgspec.Struct, frozen=True):
    """Stands for the catalogue."""

    version: str = "0123456789abcdef0123"
    tag: str = "0123456789abcdef"


def answer(_: Snapshot, question: Question, language: Language) -> Reply:
    """Echo a few fields, or fail in the way that is asked for."""
    if question.fail == "invalid":
        raise Invalid(Fault(code=FaultCode.UNKNOWN_CARD, pointer="/model", params={"name": "x"}, suggestions=("l4",)))
    if question.fail == "crash":
        raise RuntimeError("the secret")
    if question.fail == "recurse":
        raise RecursionError
    return Reply(batch=question.batch, share=question.share, stream=question.stream, language=language)


def show(_: Snapshot, thing: Thing, __: Language) -> Shown:
    """Show things called `l4` or whatever has a slash in it."""
    if thing.thing_id != "l4" and "/" not in thing.thing_id:
        fault = Fault(code=FaultCode.UNKNOWN_CARD, pointer="/thing_id", params={"name": thing.thing_id})
        raise Invalid(fault)
    return Shown(thing_id=thing.thing_id, limit=thing.limit, tags=thing.tags)


ASK = Operation(
    method="POST",
    path="/ask",
    name="ask",
    tag="sample",
    summary="Ask",
    description="Ask.",
    takes=Question,
    gives=Reply,
    answer=answer,
    example={"model": "llama"},
)
SHOW = Operation(
    method="GET",
    path="/things/{thing_id}",
    name="showThing",
    tag="sample",
    summary="Show",
    description="Show a thing.",
    takes=Thing,
    gives=Shown,
    answer=show,
    cached=True,
)


def door(settings: Settings | None = None) -> Door:
    """The sample API behind the real door."""
    return build((ASK, SHOW), Snapshot, settings or Settings())
