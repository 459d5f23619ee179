"""API keys: digests in, names out."""

from __future__ import annotations

import hashlib

import pytest

from cardmatch.keys import BadKeys, Keyring, new_key, parse
from cardmatch.settings import Settings
from tests.http.asking import ask, post
from tests.http.sample import door

# The digest of "abc" as NIST gives it in the examples of FIPS 180-4.
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
LOCKED = door(Settings(api_keys=f"team={ABC}"))


def test_the_digest_is_sha_256() -> None:
    """Whoever makes digests with other tools gets the same ones."""
    assert parse(f"team={ABC}").owner(b"abc") == "team"
    assert parse(f"team={ABC.upper()}").owner(b"abc") == "team"


def test_one_name_may_have_several_keys() -> None:
    """A key is changed by having both for a while."""
    other = hashlib.sha256(b"next").hexdigest()
    keys = parse(f"team={ABC}, team={other}\nelse={'0' * 64}")
    assert {keys.owner(b"abc"), keys.owner(b"next")} == {"team"}
    assert keys.owner(b"other") is None


@pytest.mark.parametrize("key", [b"", b"abd", b"ABC", ABC.encode(), b"abc" + b"\0" * 600, b"x" * 10_000])
def test_other_keys_are_nobodys(key: bytes) -> None:
    """Neither the digest itself nor anything near opens."""
    assert parse(f"team={ABC}").owner(key) is None


@pytest.mark.parametrize("text", ["team", f"={ABC}", f"a b={ABC}", f"team={ABC[:-1]}", f"team={ABC}0", f"team:{ABC}"])
def test_a_wrong_entry_is_refused_without_being_quoted(text: str) -> None:
    """Somebody may have written a key where a digest belongs, and errors end up in logs."""
    with pytest.raises(BadKeys) as told:
        parse(text)
    assert text not in str(told.value)


def test_new_keys_open_and_differ() -> None:
    """A key has 256 bits, so that an unsalted digest gives nothing away."""
    (key, digest), (other, _) = new_key(), new_key()
    assert key != other
    assert len(key) >= 43
    assert parse(f"me={digest}").owner(key.encode()) == "me"


def test_no_keys_are_no_lock() -> None:
    """An empty list knows nobody; the gate then stands open."""
    assert Keyring().owner(b"abc") is None
    assert post(door(), {"model": "a"}).status == 200


@pytest.mark.parametrize(
    "headers", [{"x-api-key": "abc"}, {"authorization": "Bearer abc"}, {"authorization": "bearer  abc"}]
)
def test_a_key_opens(headers: dict[str, str]) -> None:
    """It may come as X-API-Key or as a bearer token."""
    assert post(LOCKED, {"model": "a"}, headers).status == 200
    assert ask(LOCKED, "GET", "/things/l4", headers=headers).status == 200


@pytest.mark.parametrize(
    "headers", [{}, {"x-api-key": "abd"}, {"x-api-key": ABC}, {"authorization": "Basic abc"}, {"authorization": "abc"}]
)
def test_without_one_nothing_is_answered(headers: dict[str, str]) -> None:
    """401 as a problem, with the way to log in that RFC 9110 §15.5.2 asks for."""
    for response in (
        post(LOCKED, {"model": "a"}, headers),
        post(LOCKED, {"model": "a"}, headers, path="/ask/"),
        ask(LOCKED, "GET", "/things/l4", headers=headers),
        ask(LOCKED, "GET", "/docs/../things/l4", headers=headers),
        ask(LOCKED, "GET", "//things/l4", headers=headers),
        ask(LOCKED, "GET", "/metrics", headers=headers),
        ask(LOCKED, "GET", "/nothing", headers=headers),
    ):
        assert response.status in {401, 404}
        if response.status == 401:
            assert response.headers["www-authenticate"].startswith("Bearer ")
            assert response.json()["type"] == "/docs/problems/unauthorized"
    assert post(LOCKED, {"model": "a"}, headers).status == 401


@pytest.mark.parametrize(
    "path", ["/", "/livez", "/readyz", "/docs", "/docs/problems/unauthorized", "/openapi.json", "/livez/"]
)
def test_probes_and_documentation_stay_open(path: str) -> None:
    """Kubernetes has no key, and who reads how to send one has none yet."""
    assert ask(LOCKED, "GET", path).status == 200


def test_answers_behind_a_key_are_not_for_shared_caches() -> None:
    """A cache between must not hand them to somebody without a key."""
    behind = ask(LOCKED, "GET", "/things/l4", headers={"x-api-key": "abc"})
    assert behind.headers["cache-control"].startswith("private")
    assert ask(door(), "GET", "/things/l4").headers["cache-control"].startswith("public")
