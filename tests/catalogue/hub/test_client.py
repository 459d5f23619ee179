"""What is asked of a hub, and what is made of its answers: three small files from one host, or nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import time

import pytest

from cardmatch.catalogue.guests import Guest, is_hub_id
from cardmatch.catalogue.hub import client
from cardmatch.catalogue.hub.client import LARGEST_BYTES, Failed, HubClient, NotThere
from tests.hub_server import CONFIG, MODEL, PARAMETERS, REVISION, HubServer, Respond, hangs, hub_server, says


def fetch(hub: HubServer, id_: str = MODEL, *, path: str = "", token: str = "") -> Guest:
    """The model *id_* of *hub*."""

    async def run() -> Guest:
        asking = HubClient(hub.url + path, token)
        try:
            return await asking.model(id_)
        finally:
            await asking.aclose()

    return asyncio.run(run())


def test_a_model_is_read_at_one_revision(hub: HubServer) -> None:
    """The configuration is that of the commit that the API names, whatever is pushed in between."""
    assert fetch(hub) == Guest(
        id=MODEL, revision=REVISION, config=CONFIG, quantization=None, safetensors={"BF16": PARAMETERS}
    )
    assert hub.asked == [f"/api/models/{MODEL}", f"/{MODEL}/resolve/{REVISION}/config.json"]


def test_a_quantisation_beside_the_config_is_read_too(hub: HubServer) -> None:
    """hf_quant_config.json is asked for where the repository has one."""
    quantization = {"quantization": {"quant_algo": "FP8"}}
    hub.add("acme/small", CONFIG, {"F8_E4M3": 5, "BF16": 7}, hf_quant_config=quantization)
    found = fetch(hub, "acme/small")
    assert (found.quantization, found.safetensors) == (quantization, {"F8_E4M3": 5, "BF16": 7})


def test_elements_of_a_dtype_that_nobody_knows_are_left_out(hub: HubServer) -> None:
    """Half of the sizes would say less than none."""
    hub.add("acme/odd", CONFIG, {"BF16": 7, "F3": 9})
    assert fetch(hub, "acme/odd").safetensors is None


def test_the_token_is_shown(hub: HubServer) -> None:
    """As a bearer token, in every request."""
    fetch(hub, token="hf_secret")
    assert hub.authorizations == {"Bearer hf_secret"}


def test_a_hub_may_lie_below_a_path(hub: HubServer) -> None:
    """As mirrors behind one address do."""
    hub.files = {f"/hub/mirror{path}": content for path, content in hub.files.items()}
    assert fetch(hub, path="/hub/mirror/").revision == REVISION


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_what_is_not_there_or_not_for_us_is_no_failure(hub: HubServer, status: int) -> None:
    """Asking again would not help, unlike after a failure."""
    hub.instead = says(status)
    with pytest.raises(NotThere):
        fetch(hub)


def test_a_repository_without_a_config_is_no_model(hub: HubServer) -> None:
    """Data sets of GGUF files and pipelines have none; nothing more is asked."""
    hub.files[f"/api/models/{MODEL}"]["siblings"] = [{"rfilename": "model.gguf"}]
    with pytest.raises(NotThere, match=r"config\.json"):
        fetch(hub)
    assert len(hub.asked) == 1


FAILURES: dict[str, Respond] = {
    "an error": says(500),
    "too many": says(429),
    "no JSON": says(200, b"<html>"),
    "another JSON": says(200, b"[1]"),
    "deep JSON": says(200, b"[" * 100_000),
    "no revision": says(200, b'{"siblings": []}'),
    "a revision that is a path": says(200, json.dumps({"sha": "../../secret", "siblings": []}).encode()),
    "too large": says(200, b'{"sha": "' + b"0" * LARGEST_BYTES + b'"}'),
    "small, and large when unpacked": says(
        200, gzip.compress(b" " * (200 * LARGEST_BYTES) + b"{}"), **{"Content-Encoding": "gzip"}
    ),
    "a redirect to nowhere": says(302),
    "a redirect to itself": says(302, Location="/again"),
    "a redirect to a file": says(302, Location="file:///etc/passwd"),
    "silence": hangs(2.0),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_else_a_hub_answers_is_a_failure(hub: HubServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bounded time and memory."""
    monkeypatch.setattr(client, "TOTAL_SECONDS", 0.7)
    hub.instead = FAILURES[name]
    began = time.monotonic()
    with pytest.raises(Failed):
        fetch(hub)
    assert time.monotonic() - began < 1.5


def test_a_redirect_stays_on_the_host(hub: HubServer) -> None:
    """A renamed repository is found; nobody else is asked, and nobody else sees the token."""
    hub.files["/api/models/acme/old"] = None
    with hub_server() as other:

        def to(place: str) -> Respond:
            return lambda handler: (
                handler.say(307, b"", Location=place)
                if handler.path.startswith("/api/models/acme/old")
                else handler.say(200, json.dumps(hub.files.get(handler.path, CONFIG)).encode())
            )

        hub.instead = to(f"/api/models/{MODEL}")
        assert fetch(hub, "acme/old", token="hf_secret").id == "acme/old"
        for place in (f"{other.url}/api/models/{MODEL}", "//127.0.0.1:1/x", f"https{hub.url[4:]}/x"):
            hub.instead = to(place)
            with pytest.raises(Failed, match="another host"):
                fetch(hub, "acme/old", token="hf_secret")
        assert other.asked == []


def test_a_hub_that_is_away_is_a_failure() -> None:
    """Said at once."""
    with hub_server() as gone:
        pass
    with pytest.raises(Failed):
        fetch(gone)


WRONG_IDS = [
    *(
        "a",
        "a/b/c",
        "/a",
        "a/",
        "../b",
        "a/..",
        "a/b..c",
        ".a/b",
        "a/-b",
        "a b/c",
        "a/b?x=1",
        "a/b#c",
        "a/b%2Fc",
        "a/b\n",
    ),
    *("é/b", "a/" + "b" * 97, "", "a\\b/c", "@a/b", "a/b--c"),
]


@pytest.mark.parametrize("name", WRONG_IDS)
def test_only_ids_as_hubs_write_them_are_asked_for(name: str) -> None:
    """Nothing that another path could be made of."""
    assert not is_hub_id(name)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "a/b", "01-ai/Yi-1.5-9B", "x_y/Z.v2_1"])
def test_ids_as_hubs_write_them_are_asked_for(name: str) -> None:
    """Letters, digits, dots, dashes and underscores, with one slash."""
    assert is_hub_id(name)
