"""Clients of earlier releases go on: each folder of openapi/released/ is held against the service as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cardmatch import __version__
from cardmatch.http.door import Door
from tests.contract.narrowing import narrowings
from tests.contract.replay import OPENAPI, Promise, broken_answers, broken_requests, promise

RELEASED = sorted((OPENAPI / "released").iterdir())
CASES = 10
UNTIL_TAGGED = "clients of this release break; if it is not tagged yet and they may, `make release` keeps it anew"
each_release = pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)


@pytest.fixture
def present() -> Promise:
    """The document and the examples as they are, to be changed."""
    return promise(OPENAPI)


def test_a_release_is_kept() -> None:
    """Without one nothing would be compared; none may be of a version that is still to come."""
    assert RELEASED
    assert max(_numbers(folder.name) for folder in RELEASED) <= _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


@each_release
def test_nothing_that_was_promised_is_taken_away(present: Promise, folder: Path) -> None:
    """Operations, fields and words are still there, bounds are as wide, and answers as certain."""
    promised = promise(folder)
    assert folder.name == promised.document["info"]["version"]
    assert narrowings(promised.document, present.document) == [], UNTIL_TAGGED


@each_release
def test_examples_of_a_release_are_answered_as_then(service: Door, folder: Path) -> None:
    """With the same status, and in the shape that its document gave."""
    promised = promise(folder)
    assert len(promised.examples) > 20
    assert broken_answers(service, promised) == {}, UNTIL_TAGGED


@pytest.mark.slow
@each_release
def test_requests_of_a_release_are_taken(folder: Path) -> None:
    """Drawn from its document, whatever they look like."""
    assert broken_requests(promise(folder).document, CASES) == {}


@pytest.mark.slow
def test_the_present_document_is_kept(service: Door, present: Promise) -> None:
    """What is replayed of earlier documents holds for this one, or the replay itself would be wrong."""
    assert narrowings(present.document, present.document) == []
    assert broken_requests(present.document, CASES) == {}
    assert broken_answers(service, present) == {}


@pytest.mark.slow
def test_a_field_that_is_no_longer_taken_is_found(present: Promise) -> None:
    """As if the release before had had one more field in a request."""
    request = present.document["components"]["schemas"]["CostRequest"]
    request["properties"]["coupon"] = {"type": "string", "maxLength": 8}
    request["required"].append("coupon")
    assert set(broken_requests(present.document, CASES)) == {"/cost"}


@pytest.mark.slow
def test_an_operation_that_is_gone_is_found(present: Promise) -> None:
    """As if one had been renamed."""
    paths = {"/estimate": present.document["paths"]["/estimate-vram"]}
    assert broken_requests({**present.document, "paths": paths}, 1) == {
        "/estimate": "there is no such operation any more"
    }


def test_an_answer_that_lost_a_field_is_found(service: Door, present: Promise) -> None:
    """As if the release before had promised one more."""
    answer = present.document["components"]["schemas"]["Cost"]
    answer["required"] = [*answer.get("required", []), "lost"]
    found = broken_answers(service, present)
    assert found
    assert all("lost" in why for why in found.values())


def test_a_figure_that_changed_its_type_is_found(service: Door, present: Promise) -> None:
    """As if a number had been a text."""
    present.document["components"]["schemas"]["Cost"]["properties"]["summary"] = {"type": "integer"}
    assert broken_answers(service, present)


def test_an_example_that_is_refused_now_is_found(service: Door, present: Promise) -> None:
    """As if a model had been known."""
    present.examples["problem-unknown-model"]["response"]["status"] = 200
    assert broken_answers(service, present) == {"problem-unknown-model": "is answered 422"}


def _schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"][name]
    return found


def _lose_operation(document: dict[str, Any]) -> None:
    del document["paths"]["/offers"]


def _lose_parameter(document: dict[str, Any]) -> None:
    listing = document["paths"]["/cards"]["get"]
    listing["parameters"] = [each for each in listing["parameters"] if each["name"] != "vendor"]


def _lose_field(document: dict[str, Any]) -> None:
    del _schema(document, "Training")["properties"]["packing"]


def _ask_for_more(document: dict[str, Any]) -> None:
    _schema(document, "RecommendRequest")["required"].append("load")


def _lose_word(document: dict[str, Any]) -> None:
    _schema(document, "Objective")["enum"].remove("latency")


def _lose_engine(document: dict[str, Any]) -> None:
    engines = _schema(document, "Inference")["properties"]["engine"]["anyOf"]
    engines.remove({"$ref": "#/components/schemas/Ollama"})


def _lose_room(document: dict[str, Any]) -> None:
    _schema(document, "CardChoice")["properties"]["count"]["maximum"] = 4


def _lose_answer(document: dict[str, Any]) -> None:
    lost = _schema(document, "Estimate")
    del lost["properties"]["need"]
    lost["required"].remove("need")


def _leave_out(document: dict[str, Any]) -> None:
    _schema(document, "Band")["required"].remove("basis")


def _say_more(document: dict[str, Any]) -> None:
    _schema(document, "Verdict")["enum"].append("perhaps")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_lose_operation, "GET /offers is gone"),
        (_lose_parameter, "GET /cards: vendor is gone"),
        (_lose_field, "/packing is gone"),
        (_ask_for_more, "/load must now be given"),
        (_lose_word, "“latency” is gone"),
        (_lose_engine, "kind=ollama is gone"),
        (_lose_room, "maximum was 1024 and is 4"),
        (_lose_answer, "/need is gone"),
        (_leave_out, "/basis is not sure any more"),
        (_say_more, "“perhaps” is new"),
    ],
)
def test_whatever_a_client_would_miss_is_found(present: Promise, change: Any, found: str) -> None:
    """Each way in which a document can take something away is named at its place."""
    changed = json.loads(json.dumps(present.document))
    change(changed)
    named = narrowings(present.document, changed)
    assert any(found in each for each in named), named


def test_what_is_added_is_no_loss(present: Promise) -> None:
    """A new operation, a new field on either side and a new notice break nobody."""
    changed = json.loads(json.dumps(present.document))
    changed["paths"]["/more"] = changed["paths"]["/cost"]
    for name in ("EstimateRequest", "Estimate"):
        _schema(changed, name)["properties"]["more"] = {"type": "boolean"}
    _schema(changed, "Estimate")["required"].append("more")
    _schema(changed, "NoticeCode")["enum"].append("more")
    assert narrowings(present.document, changed) == []
