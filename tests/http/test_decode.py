"""Strict decoding: the bodies that property-based tests do not think of."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.http.door import Door
from tests.http.asking import JSON, ask, post

SHAPE = '"model":{"kind":"shape","layers":32}'


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        # what lax decoders let pass
        ('{"model":"a","batch":"2"}', 422, "/batch"),
        ('{"model":"a","batch":true}', 422, "/batch"),
        ('{"model":"a","batch":2.5}', 422, "/batch"),
        ('{"model":"a","batch":null}', 422, "/batch"),
        ('{"model":"a","stream":"true"}', 422, "/stream"),
        ('{"model":"a","stream":1}', 422, "/stream"),
        ('{"model":"a","share":"nan"}', 422, "/share"),
        ('{"model":"a","share":"inf"}', 422, "/share"),
        ('{"model":"a","share":"0.5"}', 422, "/share"),
        ('{"model":{"kind":"shape","layers":1,"kv_heads":"null"}}', 422, "/model/kv_heads"),
        ('{"model":1}', 422, "/model"),
        # what JSON Schema calls an integer
        ('{"model":"a","batch":2.0}', 200, None),
        ('{"model":"a","batch":1e2}', 200, None),
        (f'{{{SHAPE},"batch":284.0,"step":8.0,"counts":{{"a":1.0}}}}', 200, None),
        ('{"model":"a","batch":5000.0}', 422, "/batch"),
        ('{"model":"a","batch":1e30}', 422, "/batch"),
        ('{"model":"a","batch":-0.0}', 422, "/batch"),
        # bounds
        ('{"model":"a","batch":0}', 422, "/batch"),
        ('{"model":"a","batch":4097}', 422, "/batch"),
        ('{"model":"a","batch":' + "9" * 40 + "}", 422, "/batch"),
        ('{"model":"a","share":1e400}', 422, "/share"),
        ('{"model":"a","share":1.0000001}', 422, "/share"),
        ('{"model":{"kind":"shape","layers":1,"ratio":0}}', 422, "/model/ratio"),
        ('{"model":{"kind":"shape","layers":1,"ratio":1}}', 422, "/model/ratio"),
        ('{"model":"a","step":6}', 422, "/step"),
        ('{"model":""}', 422, "/model"),
        ('{"model":"123456789"}', 422, "/model"),
        # closed vocabularies and dates
        ('{"model":"a","format":"FP16"}', 422, "/format"),
        ('{"model":"a","mode":"medium"}', 422, "/mode"),
        ('{"model":"a","on":"2026-13-01"}', 422, "/on"),
        ('{"model":"a","on":"2026-02-30"}', 422, "/on"),
        ('{"model":"a","language":"de"}', 422, "/language"),
        # members of unions, lists and maps
        ('{"model":{"kind":"id","id":"a_b"}}', 422, "/model/id"),
        ('{"model":{"kind":"id","id":"a\\n"}}', 422, "/model/id"),
        ('{"model":{"kind":"id"}}', 422, "/model/id"),
        ('{"model":{"kind":"id","id":"a","layers":3}}', 422, "/model/layers"),
        ('{"model":{"kind":"other"}}', 422, "/model/kind"),
        ('{"model":{"kind":7}}', 422, "/model/kind"),
        ('{"model":{}}', 422, "/model/kind"),
        ('{"model":"a","tags":["b","cccc"]}', 422, "/tags/1"),
        ('{"model":"a","tags":["a","b","c"]}', 422, "/tags"),
        ('{"model":"a","pair":[1]}', 422, "/pair"),
        ('{"model":"a","pair":[1,"a",2]}', 422, "/pair"),
        ('{"model":"a","pair":[1,2]}', 422, "/pair/1"),
        ('{"model":"a","counts":{"a":1,"b/~c":10}}', 422, "/counts/b~1~0c"),
        ('{"model":"a","counts":{"a":1,"b":2,"c":"3"}}', 422, "/counts/c"),
        ('{"model":"a","counts":{"ok":1,"0123456789":1}}', 422, "/counts/0123456789"),
        ('{"model":"a","counts":{"a":1,"b":1,"c":1,"d":1,"e":1}}', 422, "/counts"),
        # fields
        ("{}", 422, "/model"),
        ('{"model":"a","bach":1}', 422, "/bach"),
        ('{"model":"a","a/b~c":1}', 422, "/a~1b~0c"),
        # the top
        ("null", 422, ""),
        ("[]", 422, ""),
        ('"text"', 422, ""),
        # not JSON
        ("", 400, None),
        ("  \n", 400, None),
        ("{", 400, None),
        ('{"model":"a"} x', 400, None),
        ('{"model":"a","share":NaN}', 400, None),
        ('{"model":"a","share":Infinity}', 400, None),
        ("{'model':'a'}", 400, None),
        ('\ufeff{"model":"a"}', 400, None),
        ('{"model":"\\ud800"}', 400, None),
        (b'{"model":"\xff"}', 400, None),
        # wrong here, and not JSON further on
        ('{"model":"a","batch":"2",', 400, None),
    ],
)
def test_body(sample: Door, body: str | bytes, status: int, pointer: str | None) -> None:
    """Every body is taken exactly as its type says, or refused with a pointer to what does not fit."""
    response = post(sample, body)
    assert response.status == status, response.body
    if status != 200:
        assert response.headers["content-type"] == "application/problem+json"
        errors = response.json().get("errors", [])
        assert [error["pointer"] for error in errors] == ([] if pointer is None else [pointer])


@pytest.mark.parametrize(
    "body",
    [
        "[" * 30_000,
        '{"model":' + "[" * 30_000,
        '{"model":' + "[" * 30_000 + "]" * 30_000 + "}",
        '{"model":"a","config":{"a":' + "[" * 30_000 + "]" * 30_000 + "}}",
        '{"config":' + '{"a":' * 10_000 + "1" + "}" * 10_000 + "}",
        '{"model":"a","batch":1.5,"config":{"a":' + "[" * 990 + "]" * 990 + "}}",
    ],
)
def test_deep_nesting_is_no_mistake_of_ours(sample: Door, body: str) -> None:
    """However deep a body is nested, it is refused as nested too deeply, not JSON or not fitting; never a 500."""
    response = post(sample, body)
    assert response.status in {400, 422}, response.body


def test_deep_nesting_is_called_so(sample: Door) -> None:
    """Where plain JSON may stand and is nested beyond what can be read, the problem says that."""
    response = post(sample, '{"model":"a","config":{"a":' + "[" * 30_000 + "]" * 30_000 + "}}")
    assert (response.status, response.json()["type"]) == (400, "/docs/problems/nested_too_deeply")


def test_what_decodes_but_is_too_deep_to_walk_is_called_so(sample: Door) -> None:
    """A structure that only an answer finds too deep gives the same problem."""
    response = post(sample, {"model": "a", "fail": "recurse"})
    assert (response.status, response.json()["type"]) == (400, "/docs/problems/nested_too_deeply")


@pytest.mark.parametrize(
    "media",
    [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/x-msgpack", "*/*"],
)
def test_other_media_types_are_refused(sample: Door, media: str | None) -> None:
    """A body that does not say it is JSON is not read as JSON."""
    headers = {} if media is None else {"content-type": media}
    response = ask(sample, "POST", "/ask", '{"model":"a"}', headers)
    assert (response.status, response.json()["type"]) == (415, "/docs/problems/media_type")


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON", "application/json ;a=b"])
def test_spellings_of_the_media_type_are_accepted(sample: Door, media: str) -> None:
    """Media types ignore case and may carry parameters."""
    assert ask(sample, "POST", "/ask", '{"model":"a"}', {"content-type": media}).status == 200


def test_of_a_repeated_key_the_last_counts(sample: Door) -> None:
    """The decoder cannot see repetitions; that the last one wins is documented, so it must not change."""
    assert post(sample, '{"model":"a","batch":1,"batch":7}').json()["batch"] == 7


def test_the_first_error_is_reported(sample: Door) -> None:
    """Decoding stops at the first thing that does not fit: one error, not none and not all."""
    assert len(post(sample, '{"model":"a","batch":0,"share":9}').json()["errors"]) == 1


@pytest.mark.parametrize(
    ("body", "detail", "suggestions"),
    [
        ('{"model":"a","batch":"2"}', "Expected an integer, but got a text.", []),
        ('{"model":"a","batch":0}', "The value must be at least 1.", []),
        ('{"model":"a","batch":5000}', "The value must be at most 4,096.", []),
        ('{"model":{"kind":"shape","layers":1,"ratio":0}}', "The value must be greater than 0.", []),
        ('{"model":{"kind":"shape","layers":1,"ratio":1.5}}', "The value must be less than 1.", []),
        ('{"model":"a","step":6}', "The value must be a multiple of 4.", []),
        ('{"model":"a","share":1e400}', "The number is too large to be represented.", []),
        ('{"model":""}', "The text must have at least 1 character.", []),
        ('{"model":"123456789"}', "The text may have at most 8 characters.", []),
        ('{"model":"a","tags":["a","b","c"]}', "The list may have at most 2 items.", []),
        ('{"model":"a","pair":[1]}', "The list must have at least 2 items.", []),
        ('{"model":"a","pair":[1,"a",2]}', "The list may have at most 2 items.", []),
        ('{"model":"a","formt":1}', None, ["format"]),
        ('{"model":"a","format":"fp6"}', "“fp6” is not accepted here; use fp16 or int8.", ["fp16"]),
        ('{"model":{"kind":"ids"}}', "“ids” is not accepted here; use id or shape.", ["id"]),
        ("{}", "The field “model” is missing.", []),
        ('{"model":"a","on":"soon"}', None, []),
        ('{"model":{"kind":"id","id":"A"}}', None, []),
    ],
)
def test_errors_say_what_would_be_right(sample: Door, body: str, detail: str | None, suggestions: list[str]) -> None:
    """An error says what was wrong and what would be right, in words, and what may have been meant."""
    problem = post(sample, body).json()
    error = problem["errors"][0]
    assert error["detail"] == detail or (detail is None and len(error["detail"]) > 20)
    assert error.get("suggestions", []) == suggestions
    assert problem.get("suggestions", []) == suggestions


@pytest.mark.parametrize(
    ("headers", "body", "word"),
    [
        ({}, {"model": "a", "batch": 0}, "must be"),
        ({"accept-language": "es-MX,es;q=0.9,en;q=0.8"}, {"model": "a", "batch": 0}, "debe"),
        ({"accept-language": "zh-CN"}, {"model": "a", "batch": 0}, "不得"),
        ({"accept-language": "es"}, {"model": "a", "batch": 0, "language": "zh"}, "不得"),
        ({}, {"language": "es", "batch": "x"}, "debe|Se esperaba|Falta"),
    ],
)
def test_errors_speak_the_askers_language(
    sample: Door, headers: dict[str, str], body: dict[str, Any], word: str
) -> None:
    """The body's `language` counts, even where the rest of it cannot be read; else Accept-Language; else English."""
    response = post(sample, body, headers)
    assert any(part in response.json()["errors"][0]["detail"] for part in word.split("|")), response.body


def test_nothing_that_was_sent_is_repeated_at_length(sample: Door) -> None:
    """A megabyte of nonsense comes back as a short problem."""
    for body in ({"model": "a", "x" * 50_000: 1}, {"model": "a", "format": "y" * 50_000}):
        assert len(post(sample, body).body) < 3_000


def test_json_header_is_the_only_one_needed(sample: Door) -> None:
    """Neither Accept nor anything else is asked for."""
    assert ask(sample, "POST", "/ask", '{"model":"a"}', {**JSON, "accept": "application/xml"}).status == 200


@pytest.mark.parametrize("model", ["a", {"kind": "id", "id": "a"}, {"kind": "shape", "layers": 32, "ratio": 0.25}])
def test_every_member_of_a_union_is_taken(sample: Door, model: object) -> None:
    """A name, and either of the tagged objects."""
    assert post(sample, {"model": model}).status == 200
