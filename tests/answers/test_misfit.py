"""Every message of msgspec's decoder has a code, whatever a later release of it may add."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from cardmatch.answers.misfit import explain, fitted
from cardmatch.engine.models.formats import WeightFormat
from cardmatch.engine.terms.fault import FaultCode, Invalid


@pytest.mark.parametrize(
    ("annotation", "body", "code", "params"),
    [
        (int, "x", FaultCode.WRONG_TYPE, {"expected": ["integer"], "got": "string"}),
        (float | str | None, [], FaultCode.WRONG_TYPE, {"expected": ["number", "string", "null"], "got": "array"}),
        (dict[str, int], [], FaultCode.WRONG_TYPE, {"expected": ["object"], "got": "array"}),
        (bool, 1, FaultCode.WRONG_TYPE, {"expected": ["boolean"], "got": "integer"}),
        (str, True, FaultCode.WRONG_TYPE, {"expected": ["string"], "got": "boolean"}),
        (str, None, FaultCode.WRONG_TYPE, {"expected": ["string"], "got": "null"}),
        (Annotated[int, Meta(ge=2)], 1, FaultCode.TOO_SMALL, {"minimum": 2}),
        (Annotated[int, Meta(gt=2)], 1, FaultCode.TOO_SMALL, {"minimum": 3}),
        (Annotated[int, Meta(le=-2)], 1, FaultCode.TOO_LARGE, {"maximum": -2}),
        (Annotated[float, Meta(ge=2.5)], 1, FaultCode.TOO_SMALL, {"minimum": 2.5}),
        (Annotated[float, Meta(gt=2.5)], 1, FaultCode.NOT_ABOVE, {"limit": 2.5}),
        (Annotated[float, Meta(lt=1e-3)], 1, FaultCode.NOT_BELOW, {"limit": 0.001}),
        (Annotated[int, Meta(multiple_of=8)], 12, FaultCode.NOT_A_MULTIPLE, {"multiple": 8}),
        (Annotated[float, Meta(multiple_of=0.5)], 0.7, FaultCode.NOT_A_MULTIPLE, {"multiple": 0.5}),
        (Annotated[str, Meta(min_length=2)], "a", FaultCode.TEXT_TOO_SHORT, {"minimum": 2}),
        (Annotated[str, Meta(max_length=2)], "abc", FaultCode.TEXT_TOO_LONG, {"maximum": 2}),
        (Annotated[list[int], Meta(min_length=2)], [1], FaultCode.TOO_FEW_ITEMS, {"minimum": 2}),
        (Annotated[dict[str, int], Meta(max_length=0)], {"a": 1}, FaultCode.TOO_MANY_ITEMS, {"maximum": 0}),
        (tuple[int, int], [1], FaultCode.TOO_FEW_ITEMS, {"minimum": 2}),
        (tuple[int, int], [1, 2, 3], FaultCode.TOO_MANY_ITEMS, {"maximum": 2}),
        (Annotated[str, Meta(pattern="^[a-z']+$")], "A", FaultCode.WRONG_PATTERN, {"pattern": "^[a-z']+$"}),
        (dt.date, "x", FaultCode.WRONG_FORMAT, {"format": "date"}),
        (dt.datetime, "x", FaultCode.WRONG_FORMAT, {"format": "date-time"}),
        (dt.time, "x", FaultCode.WRONG_FORMAT, {"format": "time"}),
        (dt.timedelta, "x", FaultCode.WRONG_FORMAT, {"format": "duration"}),
        (uuid.UUID, "x", FaultCode.WRONG_FORMAT, {"format": "uuid"}),
        (bytes, "x", FaultCode.WRONG_FORMAT, {"format": "base64"}),
    ],
)
def test_each_message_becomes_its_code(annotation: Any, body: Any, code: FaultCode, params: dict[str, Any]) -> None:
    """What the decoder says in English is a code with the figures of it."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(body, annotation)
    fault = explain(caught.value, body, annotation)
    assert (fault.code, fault.pointer, fault.params) == (code, "", params)


def test_no_message_of_the_decoder_is_unknown() -> None:
    """The messages compiled into msgspec are the ones that were read when this was written.

    A release that words them otherwise must not turn every fault into `wrong_type` unnoticed.
    """
    compiled = Path(msgspec._core.__file__).read_bytes()
    messages = {
        text.decode() for text in re.findall(rb"(?:Expected|Invalid|Object|Number|Integer|Duration)[ -~]+%U", compiled)
    }
    assert messages == {line for line in KNOWN.splitlines() if line}


KNOWN = """
Duration is out of range%U
Expected `%U`, got `%s`%U
Expected `%s` with a timezone component%U
Expected `%s` with no timezone component%U
Expected `%s`, got `%s`%U
Expected `array` of at least length %zd, got %zd%U
Expected `array` of at least length %zd, got 0%U
Expected `array` of at least length 1, got 0%U
Expected `array` of at most length %zd, got %zd%U
Expected `array` of length %zd to %zd%U
Expected `array` of length %zd to %zd, got %zd%U
Expected `array` of length %zd%U
Expected `array` of length %zd, got %zd%U
Expected `array` of length <= %zd%U
Expected `array` of length >= %zd%U
Expected `bytes` of length <= %zd%U
Expected `bytes` of length >= %zd%U
Expected `float` %s %R%U
Expected `int` <= %lld%U
Expected `int` >= %lld%U
Expected `int` that's a multiple of %lld%U
Expected `int`%U
Expected `object` of length <= %zd%U
Expected `object` of length >= %zd%U
Expected `str` matching regex %R%U
Expected `str` of length <= %zd%U
Expected `str` of length >= %zd%U
Expected `str`%U
Expected a hashable value, got `%s`%U
Integer value out of range%U
Invalid ISO8601 duration%U
Invalid MessagePack timestamp%U
Invalid MessagePack timestamp: nanoseconds out of range%U
Invalid RFC3339 encoded date%U
Invalid RFC3339 encoded datetime%U
Invalid RFC3339 encoded time%U
Invalid UUID bytes%U
Invalid UUID%U
Invalid base64 encoded string%U
Invalid decimal string%U
Invalid enum value %R%U
Invalid epoch timestamp%U
Invalid value %R%U
Invalid value %lld%U
Invalid value %llu%U
Invalid value '%U'%U
Number out of range%U
Object contains unknown field `%U`%U
Object missing required field `%U`%U
"""


def test_a_pattern_that_lists_words_is_told_as_a_choice() -> None:
    """A weight format that does not exist is answered with all that do, not with a regular expression."""
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert("fp9", WeightFormat)
    fault = explain(raised.value, "fp9", WeightFormat)
    assert fault.code is FaultCode.WRONG_VALUE
    assert {"as_published", "bf16", "fp8", "nvfp4", "gguf:Q4_K_M"} <= set(fault.params["known"])  # type: ignore[arg-type]
    assert "fp8" in fault.suggestions


def test_a_bound_next_to_nothing_is_said_as_more_than_nothing() -> None:
    """Rates and prices start at a millionth, which nobody is helped by; zero is what was wrong."""

    class Rate(msgspec.Struct):
        value: Annotated[float, Meta(ge=1e-9)]

    with pytest.raises(Invalid) as invalid:
        fitted({"value": 0}, Rate)
    fault = invalid.value.faults[0]
    assert (fault.code, fault.params) == (FaultCode.NOT_ABOVE, {"limit": 0})
