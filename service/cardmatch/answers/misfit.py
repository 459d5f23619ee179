"""What msgspec says about a body that does not fit, as a Fault: a code with parameters, to be said in any language."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from cardmatch.answers.walk import Place, choices, follow
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

T = TypeVar("T")
_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?", re.DOTALL)
# msgspec names Python's types, a caller thinks in JSON's.
_JSON = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "bytes": "string"}
_OF_VALUE: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_BOUNDS = {
    ">=": (FaultCode.TOO_SMALL, "minimum"),
    "<=": (FaultCode.TOO_LARGE, "maximum"),
    ">": (FaultCode.NOT_ABOVE, "limit"),
    "<": (FaultCode.NOT_BELOW, "limit"),
}
_CHOICE = re.compile(r"\^\(((?:[\w-]+\|)+[^|()]+)\)\$(?:\(\?!\\n\))?")
_EXAMPLE = {"gguf:[A-Za-z0-9_-]{1,32}": "gguf:Q4_K_M"}
_NEXT_TO_NOTHING = 1e-3
_FORMATS = {"datetime": "date-time", "date": "date", "time": "time", "duration": "duration", "UUID": "uuid"}


def explain(error: msgspec.ValidationError, body: Any, annotation: Any) -> Fault:
    """Say in what *body* (decoded, plain) does not fit *annotation*; *error* is what msgspec raised for it."""
    match = _MESSAGE.fullmatch(str(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    place = follow(path + ("[...]" if match and match["key"] else ""), body, annotation)
    for pattern, build in _READERS:
        if found := pattern.fullmatch(what):
            return build(found, place)
    return Fault(code=FaultCode.WRONG_TYPE, pointer=place.pointer, params={"expected": [], "got": _name(place.value)})


def fitted(body: Any, shape: type[T]) -> T:
    """*body* (decoded, plain) as *shape*, strictly. Raises Invalid, with a pointer into it."""
    try:
        return msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        raise Invalid(explain(error, body, shape)) from None


def json_type(python_name: str) -> str:
    """The JSON name of what msgspec calls *python_name*."""
    return _JSON.get(python_name, python_name)


def _name(value: Any) -> str:
    return _OF_VALUE.get(type(value), "object")


def _fault(code: FaultCode, place: Place, **params: Any) -> Fault:
    return Fault(code=code, pointer=place.pointer, params=params)


def _missing(found: re.Match[str], place: Place) -> Fault:
    params: Params = {"field": found[1]}
    return Fault(code=FaultCode.MISSING_FIELD, pointer=place.member(found[1]), params=params)


def _unknown(found: re.Match[str], place: Place) -> Fault:
    known = place.fields()
    return Fault(
        code=FaultCode.UNKNOWN_FIELD,
        pointer=place.member(found[1]),
        params={"field": found[1], "known": known},
        suggestions=tuple(get_close_matches(found[1], known, n=3)),
    )


def _value(_: re.Match[str], place: Place) -> Fault:
    known = [str(choice) for choice in choices(place.kind)]
    shown = str(place.value)[:100]
    return Fault(
        code=FaultCode.WRONG_VALUE,
        pointer=place.pointer,
        params={"value": shown, "known": known},
        suggestions=tuple(get_close_matches(shown, known, n=3)),
    )


def _type(found: re.Match[str], place: Place) -> Fault:
    expected = [json_type(part) for part in found[1].split(" | ")]
    return _fault(FaultCode.WRONG_TYPE, place, expected=expected, got=_name(place.value))


def _bound(found: re.Match[str], place: Place) -> Fault:
    code, name = _BOUNDS[found[2]]
    limit = ast.literal_eval(found[3])
    if code is FaultCode.TOO_SMALL and 0 < limit < _NEXT_TO_NOTHING:  # a bound that stands for “more than nothing”
        return _fault(FaultCode.NOT_ABOVE, place, limit=0)
    return _fault(code, place, **{name: limit})


def _length(found: re.Match[str], place: Place) -> Fault:
    least = found[2] == ">="
    if found[1] in {"str", "bytes"}:
        code = FaultCode.TEXT_TOO_SHORT if least else FaultCode.TEXT_TOO_LONG
    else:
        code = FaultCode.TOO_FEW_ITEMS if least else FaultCode.TOO_MANY_ITEMS
    return _fault(code, place, **{"minimum" if least else "maximum": int(found[3])})


def _exact_length(found: re.Match[str], place: Place) -> Fault:
    least, most = int(found[1]), int(found[2] or found[1])
    if isinstance(place.value, list) and len(place.value) > most:
        return _fault(FaultCode.TOO_MANY_ITEMS, place, maximum=most)
    return _fault(FaultCode.TOO_FEW_ITEMS, place, minimum=least)


def _pattern(found: re.Match[str], place: Place) -> Fault:
    """A pattern that only lists words is a choice, and is told as one: `gguf:` and the like stand for all they open."""
    listed = _CHOICE.fullmatch(ast.literal_eval(found[1]))
    if listed is not None and isinstance(place.value, str):
        known = [_EXAMPLE.get(each, each) for each in listed[1].split("|")]
        value = place.value[:100]
        near = tuple(get_close_matches(value, known, n=3))
        return Fault(
            code=FaultCode.WRONG_VALUE, pointer=place.pointer, params={"value": value, "known": known}, suggestions=near
        )
    return _fault(FaultCode.WRONG_PATTERN, place, pattern=ast.literal_eval(found[1]))


def _format(found: re.Match[str], place: Place) -> Fault:
    return _fault(FaultCode.WRONG_FORMAT, place, format=_FORMATS.get(found[1], found[1]))


def _range(_: re.Match[str], place: Place) -> Fault:
    return _fault(FaultCode.NUMBER_OUT_OF_RANGE, place)


def _multiple(found: re.Match[str], place: Place) -> Fault:
    return _fault(FaultCode.NOT_A_MULTIPLE, place, multiple=ast.literal_eval(found[1]))


# Every message of msgspec's decoder, in its own words (msgspec/_core.c); the first that matches wins.
_READERS: list[tuple[re.Pattern[str], Callable[[re.Match[str], Place], Fault]]] = [
    (re.compile(r"Object missing required field `(.+)`", re.DOTALL), _missing),
    (re.compile(r"Object contains unknown field `(.*)`", re.DOTALL), _unknown),
    (re.compile(r"Invalid (?:enum )?value .*", re.DOTALL), _value),
    (re.compile(r"Expected `([^`]+)`(?:, got `\w+`)?"), _type),
    (re.compile(r"Expected `(int|float)` (>=|<=|>|<) (\S+)"), _bound),
    (re.compile(r"Expected `(?:int|float)` that's a multiple of (.+)"), _multiple),
    (re.compile(r"Expected `(\w+)` of length (>=|<=) (\d+)"), _length),
    (re.compile(r"Expected `array` of (?:at least |at most )?length (\d+)(?: to (\d+))?(?:, got \d+)?"), _exact_length),
    (re.compile(r"Expected `str` matching regex (.*)", re.DOTALL), _pattern),
    (re.compile(r"Invalid (?:RFC3339 encoded |ISO8601 )?(\w+)(?: encoded)?(?: string)?"), _format),
    (re.compile(r"(?:Integer value|Number|Duration is) out of range"), _range),
]
