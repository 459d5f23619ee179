"""Pages of other origins."""

from __future__ import annotations

import hashlib

from cardmatch.settings import Settings
from tests.http.asking import Response, ask, post
from tests.http.sample import door

OURS = "https://shop.example"
NAMED = door(Settings(cors_origins=f"{OURS}, http://localhost:3000"))
ANY = door(Settings(cors_origins="*"))
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}


def _allowed(response: Response) -> str | None:
    return response.headers.get("access-control-allow-origin")


def test_by_default_no_page_may_read() -> None:
    """Without the setting there is no header, and a preflight is an ordinary OPTIONS."""
    assert _allowed(post(door(), {"model": "a"}, {"origin": OURS})) is None
    assert _allowed(ask(door(), "OPTIONS", "/ask", headers={"origin": OURS, **PREFLIGHT})) is None


def test_a_named_origin_may() -> None:
    """Its own name comes back, and caches are told that it matters."""
    response = post(NAMED, {"model": "a"}, {"origin": OURS})
    assert (response.status, _allowed(response)) == (200, OURS)
    preflight = ask(NAMED, "OPTIONS", "/ask", headers={"origin": OURS, **PREFLIGHT})
    assert (preflight.status, _allowed(preflight)) == (204, OURS)
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "content-type" in preflight.headers["access-control-allow-headers"]


def test_other_origins_may_not() -> None:
    """Neither one that begins alike nor one of another scheme; the answer itself is harmless without the header."""
    for origin in ("https://shop.example.evil.example", "http://shop.example", "null", "https://SHOP.example"):
        assert _allowed(post(NAMED, {"model": "a"}, {"origin": origin})) is None
        assert _allowed(ask(NAMED, "OPTIONS", "/ask", headers={"origin": origin, **PREFLIGHT})) is None


def test_errors_can_be_read_too() -> None:
    """A page that may not read its 422 cannot show what was wrong."""
    assert _allowed(post(NAMED, {"model": 1}, {"origin": OURS})) == OURS


def test_everybody_may_where_that_is_set() -> None:
    """With `*` there is nothing to vary, and never a cookie."""
    response = post(ANY, {"model": "a"}, {"origin": "https://anything.example"})
    assert _allowed(response) == "*"
    assert "access-control-allow-credentials" not in response.headers
    assert "origin" not in response.headers["vary"]


def test_a_preflight_needs_no_key() -> None:
    """Browsers send none with it."""
    app = door(Settings(cors_origins=OURS, api_keys=f"me={hashlib.sha256(b'k').hexdigest()}"))
    assert ask(app, "OPTIONS", "/ask", headers={"origin": OURS, **PREFLIGHT}).status == 204
    refused = post(app, {"model": "a"}, {"origin": OURS})
    assert (refused.status, _allowed(refused)) == (401, OURS)
    assert post(app, {"model": "a"}, {"origin": OURS, "x-api-key": "k"}).status == 200
