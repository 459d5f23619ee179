"""Clients of earlier releases go on: each document under openapi/released/ is replayed against the service as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cardmatch import __version__
from cardmatch.http.door import Door
from tests.contract.replay import broken_answers, broken_requests

RELEASED = sorted((Path(__file__).resolve().parents[2] / "openapi" / "released").glob("*.json"))
CASES = 10


@pytest.fixture
def document(root: Path) -> dict[str, Any]:
    """The document as it is, to be changed."""
    found: dict[str, Any] = json.loads((root / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_what_was_promised_is_kept(service: Door, path: Path) -> None:
    """Requests that fitted are taken, and answers fit as they did."""
    promised = json.loads(path.read_text(encoding="utf-8"))
    assert path.stem == promised["info"]["version"] != __version__
    assert broken_requests(promised, CASES) == {}
    assert broken_answers(service, promised) == {}


@pytest.mark.slow
def test_the_present_document_is_kept(service: Door, document: dict[str, Any]) -> None:
    """What is replayed of earlier documents holds for this one, or the replay itself would be wrong."""
    assert broken_requests(document, CASES) == {}
    assert broken_answers(service, document) == {}


@pytest.mark.slow
def test_a_field_that_is_no_longer_taken_is_found(document: dict[str, Any]) -> None:
    """As if the release before had had one more field in a request."""
    request = document["components"]["schemas"]["CostRequest"]
    request["properties"]["coupon"] = {"type": "string", "maxLength": 8}
    request["required"].append("coupon")
    assert set(broken_requests(document, CASES)) == {"/cost"}


@pytest.mark.slow
def test_an_operation_that_is_gone_is_found(document: dict[str, Any]) -> None:
    """As if one had been renamed."""
    document["paths"]["/estimate"] = document["paths"]["/estimate-vram"]
    assert broken_requests({**document, "paths": {"/estimate": document["paths"]["/estimate"]}}, 1) == {
        "/estimate": "there is no such operation any more"
    }


def test_an_answer_that_lost_a_field_is_found(service: Door, document: dict[str, Any]) -> None:
    """As if the release before had promised one more."""
    answer = document["components"]["schemas"]["Cost"]
    answer["required"] = [*answer.get("required", []), "lost"]
    found = broken_answers(service, document)
    assert found
    assert all("lost" in why for why in found.values())


def test_a_figure_that_changed_its_type_is_found(service: Door, document: dict[str, Any]) -> None:
    """As if a number had been a text."""
    document["components"]["schemas"]["Cost"]["properties"]["summary"] = {"type": "integer"}
    assert broken_answers(service, document)
