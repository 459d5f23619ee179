"""The parameters of a GET: text that is read as the types of one struct, as strictly as a body."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from cardmatch.answers.misfit import explain
from cardmatch.http.problems import Refused
from cardmatch.text.problem import ProblemType

T = TypeVar("T")
_MOST = 100
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,99})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BOOLEANS = {"true": True, "false": False}


def decode_parameters(query: bytes, path: dict[str, str], shape: Any) -> Any:
    """The parameters of *query*, and those of the *path*, as *shape*. Raises Refused: bad_parameter, malformed_request.

    A parameter may be repeated where the field is a list; elsewhere a second one is refused, not taken for the first.
    Null cannot be written: it is what a parameter is that is left out.
    """
    given = _given(query, path, _readers(shape))
    try:
        return msgspec.convert(given, shape)
    except msgspec.ValidationError as error:
        raise Refused(ProblemType.BAD_PARAMETER, explain(error, given, shape)) from None


class _Reader(msgspec.Struct, frozen=True):
    """How the text of a parameter is read, and whether it may be repeated."""

    read: Callable[[str], Any]
    several: bool


def _given(query: bytes, path: dict[str, str], readers: dict[str, _Reader]) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST)
    except ValueError:
        raise Refused(ProblemType.MALFORMED_REQUEST) from None
    given: dict[str, Any] = {}
    for name, text in (*path.items(), *pairs):
        reader = readers.get(name)
        value = reader.read(text) if reader else text
        if reader and reader.several:
            given.setdefault(name, []).append(value)
        else:
            given[name] = [given[name], value] if name in given else value
    return given


@cache
def _readers(shape: Any) -> dict[str, _Reader]:
    kind = inspect.type_info(shape)
    fields = kind.fields if isinstance(kind, inspect.StructType) else ()
    return {field.encode_name: _reader(field.type) for field in fields}


def _reader(kind: inspect.Type) -> _Reader:
    parts = _parts(kind)
    lists = [part for part in parts if isinstance(part, inspect.ListType | inspect.VarTupleType)]
    if lists:
        return _Reader(_reader(lists[0].item_type).read, several=True)
    for part in parts:
        for of, read in _READ.items():
            if isinstance(part, of):
                return _Reader(read, several=False)
    return _Reader(str, several=False)


def _parts(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    if isinstance(kind, inspect.Metadata):
        return _parts(kind.type)
    if isinstance(kind, inspect.UnionType):
        return tuple(part for each in kind.types for part in _parts(each))
    return (kind,)


def _boolean(text: str) -> Any:
    return _BOOLEANS.get(text, text)


def _integer(text: str) -> Any:
    return int(text) if _INTEGER.fullmatch(text) else text


def _number(text: str) -> Any:
    return float(text) if _NUMBER.fullmatch(text) else text


# Text that does not read as its type stays text, so that the error says what was expected and what came.
_READ: dict[type[inspect.Type], Callable[[str], Any]] = {
    inspect.BoolType: _boolean,
    inspect.IntType: _integer,
    inspect.FloatType: _number,
}
