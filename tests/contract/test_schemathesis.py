"""Requests that a machine makes up from the document, valid and not, against what it promises."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.generation.meta import TestPhase
from schemathesis.specs.openapi.checks import positive_data_acceptance

from cardmatch.catalogue.world import bundled
from cardmatch.http.decode import decode_body
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.parameters import decode_parameters
from cardmatch.http.problems import Refused
from cardmatch.http.router import build
from cardmatch.settings import Settings

# `make soak` draws many, others at every run.
_SOAKING = os.environ.get("SOAK_EXAMPLES")
EXAMPLES = int(_SOAKING or 25)
LEAST_WHEN_SOAKING = 2000

Case = Any  # schemathesis.Case is generic in what no test names
schema = schemathesis.openapi.from_asgi("/openapi.json", build(OPERATIONS, bundled, Settings()))
_settings = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not _SOAKING,
    database=None,
    suppress_health_check=list(HealthCheck),
)
# What the document's bounds and examples make up does not depend on names: once is enough where time is short.
_drawing = settings(_settings, phases=tuple(Phase) if _SOAKING else (Phase.generate, Phase.shrink))
_outcomes: Counter[tuple[str, str, int]] = Counter()
_drawn: Counter[str] = Counter()
_spoilt: Counter[str] = Counter()


def map_case(_: Any, case: Case) -> Case:
    """Put models and cards of the catalogue where a valid request names one; leave invalid requests as they are."""
    if case.meta and case.meta.generation.mode.is_positive:
        if isinstance(case.body, dict):
            _name_in(case.body)
        if isinstance(case.query, dict) and case.query.get("card"):
            case.query["card"] = [_card(name) for name in case.query["card"]]
        if case.path_parameters and "id" in case.path_parameters:
            draw = {"/models/{id}": _model, "/pipelines/{id}": _pipeline}.get(case.operation.path, _card)
            case.path_parameters["id"] = draw(case.path_parameters["id"])
    return case


def _name_in(body: dict[str, Any]) -> None:
    if isinstance(body.get("model"), str):
        body["model"] = _model(body["model"])
    for position, choice in enumerate(body.get("cards") or ()):
        if isinstance(choice, str):
            body["cards"][position] = _card(choice)
        elif isinstance(choice, dict) and isinstance(choice.get("card"), str):
            choice["card"] = _card(choice["card"])


def _card(drawn: str) -> str:
    cards = list(bundled().cards)
    return cards[len(drawn) % len(cards)]


def _model(drawn: str) -> str:
    models = list(bundled().models)
    return models[len(drawn) * 37 % len(models)]


def _pipeline(drawn: str) -> str:
    pipelines = list(bundled().pipelines.rows)
    return pipelines[len(drawn) % len(pipelines)]


def filter_failure(_: Any, failure: Any, __: Any, ___: Any) -> bool:
    """Leave out what is right to accept: a workload without `kind`, as long as there is one kind only."""
    return "workload -> Missing required property: kind" not in str(failure)


@pytest.mark.slow
@schema.hooks.apply(filter_failure)
@schema.hooks.apply(map_case)
@schema.parametrize()
@_settings
def test_requests_about_what_is_in_the_catalogue(case: Case) -> None:
    """All checks hold; a request that fits the document is answered, or refused for what no schema can say."""
    if _passed_over(case):
        return
    response = case.call()
    mode = case.meta.generation.mode.value if case.meta else "explicit"
    _outcomes[case.operation.label, mode, response.status_code] += 1
    _drawn[mode] += 1
    case.validate_response(response, excluded_checks=_beyond_schemas(case, response))


@pytest.mark.slow
@schema.hooks.apply(filter_failure)
@schema.parametrize()
@_drawing
def test_requests_about_anything(case: Case) -> None:
    """The same with names made up: they may be unknown, and nothing else changes."""
    response = case.call()
    _drawn[case.meta.generation.mode.value if case.meta else "explicit"] += 1
    case.validate_response(response, excluded_checks=_beyond_schemas(case, response))


def _passed_over(case: Case) -> bool:
    """Of bodies that each break one bound, thousands for one operation, take a fourth where time is short."""
    if _SOAKING or case.meta is None or case.meta.generation.mode.is_positive:
        return False
    if case.meta.phase.name is not TestPhase.COVERAGE:
        return False
    _spoilt[case.operation.label] += 1
    return _spoilt[case.operation.label] % 4 != 1


def _beyond_schemas(case: Case, response: Any) -> list[Any]:
    """A request that the decoder takes may still be refused: for a name, or for what its figures say together."""
    if response.status_code not in {404, 422} or not (case.meta and case.meta.generation.mode.is_positive):
        return []
    operation = next(each for each in OPERATIONS if f"{each.method} {each.path}" == case.operation.label)
    try:
        if operation.method == "POST":
            decode_body(msgspec.json.encode(case.body), msgspec.json.Decoder(operation.takes))
        else:
            path = {name: unquote(str(value)) for name, value in (case.path_parameters or {}).items()}
            decode_parameters(urlsplit(response.request.url).query.encode(), path, operation.takes)
    except Refused:
        return []
    return [positive_data_acceptance]


@pytest.fixture(scope="module", autouse=True)
def _enough_was_answered() -> Iterator[None]:
    """Of valid requests a good part is answered: checks that only ever see refusals prove nothing."""
    yield
    sys.stderr.write(f"\n{_drawn.total()} requests drawn: {dict(_drawn)}\n")
    for operation in OPERATIONS:
        label = f"{operation.method} {operation.path}"
        seen = {
            status: count for (name, mode, status), count in _outcomes.items() if (name, mode) == (label, "positive")
        }
        assert not seen or seen.get(200, 0) >= sum(seen.values()) / 10, (label, seen)
    assert not _SOAKING or _drawn.total() >= LEAST_WHEN_SOAKING
