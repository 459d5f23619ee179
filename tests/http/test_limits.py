"""Bodies that are too large, too slow, or never end."""

from __future__ import annotations

import asyncio

import pytest

from cardmatch.http.door import Door
from cardmatch.http.patience import Patience
from cardmatch.settings import Settings
from tests.http.asking import JSON, ask, post
from tests.http.sample import ASK, door

LIMIT = ASK.limit_bytes


def test_a_body_at_the_limit_is_read(sample: Door) -> None:
    """The limit itself is allowed."""
    body = '{"model":"a"}'.ljust(LIMIT)
    assert post(sample, body).status == 200


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_refused(sample: Door, *, declared: bool) -> None:
    """With a Content-Length before it is read, in chunks as soon as there are too many."""
    body = b'{"model":"a"}'.ljust(LIMIT + 1)
    chunks = None if declared else [body[: LIMIT // 2], body[LIMIT // 2 :], b"never asked for"]
    response = ask(sample, "POST", "/ask", body, JSON, chunks=chunks)
    problem = response.json()
    assert (response.status, problem["type"]) == (413, "/docs/problems/too_large")
    assert "64" in problem["detail"]


def test_a_false_content_length_does_not_help(sample: Door) -> None:
    """A small Content-Length before a large body is not believed."""
    body = b'{"model":"a"}'.ljust(LIMIT + 1)
    assert ask(sample, "POST", "/ask", headers={**JSON, "content-length": "5"}, chunks=[body]).status == 413


def test_chunks_are_put_together(sample: Door) -> None:
    """However a body is cut, it is the same body."""
    chunks = [b'{"mod', b"", b'el":"a",', b'"batch":3}']
    response = ask(sample, "POST", "/ask", headers=JSON, chunks=chunks)
    assert (response.status, response.json()["batch"]) == (200, 3)


def test_a_body_is_read_to_its_declared_end_and_no_further(sample: Door) -> None:
    """After as many bytes as Content-Length says nothing is waited for, as nothing can follow."""
    body = b'{"model":"a"}'
    headers = {**JSON, "content-length": str(len(body))}
    assert ask(sample, "POST", "/ask", headers=headers, chunks=[body, None]).status == 200
    assert ask(sample, "POST", "/ask", headers=headers, chunks=[body[:5], None]).status == 0


def test_chunks_end_where_they_end(sample: Door) -> None:
    """A Content-Length beside a body in chunks says nothing (RFC 9112 §6.3)."""
    chunks = [b'{"model":"a"}', b"junk"]
    headers = {**JSON, "content-length": str(len(chunks[0])), "transfer-encoding": "chunked"}
    response = ask(sample, "POST", "/ask", headers=headers, chunks=chunks)
    assert (response.status, response.json()["type"]) == (400, "/docs/problems/not_json")


@pytest.mark.parametrize("before", [0, 1])
def test_a_client_that_goes_away_is_not_answered(sample: Door, before: int) -> None:
    """Half a body and a closed connection are no error of anybody."""
    response = ask(sample, "POST", "/ask", headers=JSON, chunks=[*[b'{"mo'] * before, None, b""])
    assert response.status == 0


@pytest.mark.parametrize("first", [None, b'{"mo'])
def test_a_body_that_does_not_arrive_in_time_is_refused(first: bytes | None) -> None:
    """A client that stops in the middle of its body gets 408, not a connection for ever."""
    app = door(Settings(body_read_timeout_seconds=1))
    app._direct["/ask"]._patience = Patience(0.02, 0.02)  # type: ignore[attr-defined] # shorter than a setting may be

    async def stalled() -> list[int]:
        statuses: list[int] = []
        started = first is None

        async def receive() -> dict[str, object]:
            nonlocal started
            if not started:
                started = True
                return {"type": "http.request", "body": first, "more_body": True}
            await asyncio.sleep(30)
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(int(str(message["status"])))

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/ask", "headers": headers, "state": {}}
        await app(scope, receive, send)  # type: ignore[arg-type] # a dict is a mapping
        return statuses

    assert asyncio.run(stalled()) == [408]
