"""A question about a model that only a hub knows, from the door to the hub and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cardmatch.app import create_app
from tests.http.asking import Response, post
from tests.hub_server import CONFIG, MODEL, PARAMETERS, REVISION, HubServer, hub_server, says


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub that the environment names."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hub_server() as server:
        monkeypatch.setenv("CARDMATCH_HUB_URL", server.url)
        yield server


def estimate(model: Any, **more: Any) -> Response:
    """The answer of a process that starts for it."""
    return post(create_app(), {"model": model, "cards": ["rtx-4090"], **more}, path="/estimate-vram")


def test_a_model_of_the_hub_is_answered_for_with_its_revision(hub: HubServer) -> None:
    """As if its files had been sent along."""
    answered = estimate(MODEL).json()
    assert answered["model"] == {
        "id": MODEL,
        "revision": REVISION,
        "architecture": "llama",
        "parameters": PARAMETERS,
        "active_parameters": PARAMETERS,
    }
    sent = estimate({"kind": "config", "config": CONFIG, "safetensors": {"BF16": PARAMETERS}}).json()
    for ours, theirs in zip(answered["placements"], sent["placements"], strict=True):
        assert (ours["verdict"], ours["per_gpu"]) == (theirs["verdict"], theirs["per_gpu"])


def test_models_of_the_catalogue_are_not_asked_for(hub: HubServer) -> None:
    """By id, mirror, loose name or size."""
    for name in ("meta-llama/Llama-3.1-8B-Instruct", "unsloth/Meta-Llama-3.1-8B-Instruct", "llama 3.1 8b", "7B"):
        assert estimate(name).status == 200
    assert hub.asked == []


def test_what_resembles_a_model_is_asked_for_before_it_is_taken_for_it(hub: HubServer) -> None:
    """With a hub at hand, a fine-tune is itself; without one it is taken for what it resembles, or refused."""
    hub.add("acme/Llama-3.1-8B-Story", CONFIG)
    assert estimate("acme/Llama-3.1-8B-Story").json()["model"]["revision"] == REVISION


@pytest.mark.parametrize("failure", [says(404), says(500), says(200, b"junk")])
def test_without_the_model_its_config_is_asked_for(hub: HubServer, failure: Callable[..., None]) -> None:
    """Whether the hub does not have it or is away: 422, and what would do instead."""
    hub.instead = failure
    refused = estimate("acme/nothing-like-it")
    assert (refused.status, refused.json()["type"]) == (422, "/docs/problems/unknown_model")
    assert "config" in refused.json()["errors"][0]["detail"]
    assert hub.asked


def test_an_architecture_that_cannot_be_read_is_said_of_the_model(hub: HubServer) -> None:
    """The pointer is the one thing that was sent."""
    hub.add("acme/odd", {"model_type": "oddity", "hidden_size": 1})
    refused = estimate("acme/odd").json()
    assert refused["type"] == "/docs/problems/unknown_architecture"
    assert {error["pointer"] for error in refused["errors"]} == {"/model"}


def test_without_a_hub_nobody_is_asked(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is off by default."""
    monkeypatch.delenv("CARDMATCH_HUB_URL")
    assert estimate(MODEL).status == 422
    assert hub.asked == []


def test_a_pinned_catalogue_has_guests_too(hub: HubServer) -> None:
    """Whichever snapshot answers, the hub is the same."""
    version = estimate("7B").json()["catalogue"]["version"]
    assert estimate(MODEL, catalogue_version=version).json()["model"]["revision"] == REVISION
