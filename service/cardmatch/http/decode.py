"""Strict decoding: a body is JSON of exactly the type that its operation takes, or the request is refused."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from cardmatch.answers.misfit import explain
from cardmatch.http.problems import Refused
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType

T = TypeVar("T")
_BYTE = re.compile(r"\(byte (\d+)\)")
_EXACT_INTEGERS = 2.0**63


class _Spoken(msgspec.Struct):
    language: Language | None = None


_spoken = msgspec.json.Decoder(_Spoken)
_plain = msgspec.json.Decoder(float_hook=float)  # where 1e400 is infinite, and the error says that it does not fit


def decode_body(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """*raw* as the type of *decoder*. Raises Refused: empty_body, not_json, nested_too_deeply or invalid_request."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        fitting: T = _second_look(raw, decoder.type, error)
        return fitting
    except RecursionError:
        raise Refused(ProblemType.NESTED_TOO_DEEPLY) from None
    except msgspec.DecodeError as error:
        raise _not_json(raw, error) from None


def spoken_language(raw: bytes) -> Language | None:
    """The `language` that a body asks for, even where the rest of it cannot be read."""
    try:
        return _spoken.decode(raw).language
    except (msgspec.DecodeError, RecursionError):
        return None


def _second_look(raw: bytes, shape: Any, error: msgspec.ValidationError) -> Any:
    """Decode *raw* plainly to say where it does not fit, or to find that it does: `284.0` is an integer in JSON Schema.

    Bodies that are wrong and bodies with such numbers pay for it, others never come here.
    """
    try:
        body = _plain.decode(raw)
        if "got `float`" in str(error):
            body = _integral(body)
            try:
                return msgspec.convert(body, shape)
            except msgspec.ValidationError as again:
                error = again
        raise Refused(ProblemType.INVALID_REQUEST, explain(error, body, shape)) from None
    except RecursionError:
        raise Refused(ProblemType.NESTED_TOO_DEEPLY) from None
    except msgspec.DecodeError as exc:
        raise _not_json(raw, exc) from None


def _integral(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT_INTEGERS else value
    if isinstance(value, list):
        return [_integral(item) for item in value]
    if isinstance(value, dict):
        return {key: _integral(item) for key, item in value.items()}
    return value


def _not_json(raw: bytes, error: msgspec.DecodeError) -> Refused:
    if not raw.strip():
        return Refused(ProblemType.EMPTY_BODY)
    if found := _BYTE.search(str(error)):
        return Refused(ProblemType.NOT_JSON, position=int(found[1]))
    try:
        raw.decode()
    except UnicodeDecodeError as exc:
        return Refused(ProblemType.NOT_JSON, position=exc.start)
    return Refused(ProblemType.NOT_JSON, position=len(raw))
