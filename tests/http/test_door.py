"""Ids, logs, and what nobody expected."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from cardmatch.http.door import Door
from cardmatch.settings import Settings
from tests.http.asking import JSON, ask, asking, post
from tests.http.sample import door


@pytest.mark.parametrize(
    ("method", "url", "status", "type_"),
    [
        ("GET", "/nope", 404, "not_found"),
        ("GET", "/things/", 404, "not_found"),
        ("GET", "/things/missing", 404, "not_found"),
        ("GET", "/docs/nope", 404, "not_found"),
        ("GET", "/docs/problems/nope", 404, "not_found"),
        ("GET", "/docs/assets/0/page.css", 404, "not_found"),
        ("GET", "/ask", 405, "method_not_allowed"),
        ("PUT", "/ask", 405, "method_not_allowed"),
        ("TRACE", "/ask", 405, "method_not_allowed"),
        ("QUERY", "/ask", 405, "method_not_allowed"),
        ("POST", "/things/l4", 405, "method_not_allowed"),
        ("DELETE", "/livez", 405, "method_not_allowed"),
        ("POST", "/openapi.json", 405, "method_not_allowed"),
        ("GET", "/things/l4?limit=0", 422, "bad_parameter"),
    ],
)
def test_every_error_is_a_problem(sample: Door, method: str, url: str, status: int, type_: str) -> None:
    """Whoever refuses, the router, a page or an operation: the answer has one form, and its type is a page."""
    response = ask(sample, method, url)
    problem = response.json()
    assert (response.status, problem["status"]) == (status, status)
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"/docs/problems/{type_}"
    assert problem["title"]
    assert problem["detail"]
    assert ask(sample, "GET", problem["type"]).status == 200


def test_a_refused_method_says_which_are_allowed(sample: Door) -> None:
    """405 carries Allow, as HTTP asks, and says the same in words."""
    response = ask(sample, "GET", "/ask")
    assert sorted(response.headers["allow"].split(", ")) == ["OPTIONS", "POST"]
    assert "POST" in response.json()["detail"]


def test_options_says_which_methods_there_are(sample: Door) -> None:
    """OPTIONS is answered without a body."""
    response = ask(sample, "OPTIONS", "/ask")
    assert (response.status, response.body) == (204, b"")
    assert "POST" in response.headers["allow"]


def test_head_has_the_headers_of_get(sample: Door) -> None:
    """HEAD answers like GET, without the body."""
    for url in ("/things/l4", "/livez", "/readyz", "/openapi.json", "/docs"):
        got, headed = ask(sample, "GET", url), ask(sample, "HEAD", url)
        assert headed.status == 200
        assert headed.body == b""
        assert headed.headers["content-length"] == got.headers["content-length"] == str(len(got.body))


def test_a_trailing_slash_makes_no_difference(sample: Door) -> None:
    """The router's way to an operation and the door's give the same answer."""
    straight, routed = post(sample, {"model": "a"}), post(sample, {"model": "a"}, path="/ask/")
    assert (straight.status, straight.body) == (routed.status, routed.body)
    assert post(sample, {"model": 1}, path="/ask/").body == post(sample, {"model": 1}).body


@pytest.mark.parametrize("path", ["/ask", "/ask/"])
def test_a_mistake_is_logged_and_not_told(sample: Door, path: str) -> None:
    """An unexpected exception reaches the log with its stack, and the client as a bare 500 problem."""
    with capture_logs() as lines:
        response = post(sample, {"model": "a", "fail": "crash"}, path=path)
    assert (response.status, response.json()["type"]) == (500, "/docs/problems/internal")
    assert b"secret" not in response.body
    failed = [line for line in lines if line["event"] == "request.failed"]
    assert len(failed) == 1
    assert failed[0]["exc_info"]
    assert failed[0]["request_id"] == response.headers["x-request-id"]


def test_successes_are_not_logged_and_errors_are(sample: Door) -> None:
    """A line costs more than an answer, so only what went wrong gets one."""
    with capture_logs() as lines:
        post(sample, {"model": "a"})
        ask(sample, "GET", "/livez")
    assert lines == []
    with capture_logs() as lines:
        response = post(sample, {"model": "a", "batch": 0}, {"x-api-key": "hush"})
    (line,) = lines
    assert {**line, "seconds": 0} == {
        "event": "request",
        "log_level": "info",
        "method": "POST",
        "path": "/ask",
        "status": 422,
        "seconds": 0,
        "request_id": response.headers["x-request-id"],
        "user_agent": "",
    }


def test_slow_requests_are_logged() -> None:
    """What takes longer than the setting gets a line, however well it ends."""
    with capture_logs() as lines:
        post(door(Settings(log_slower_than_seconds=0.0)), {"model": "a"})
    assert [line["status"] for line in lines] == [200]


def test_a_request_id_is_given_or_kept(sample: Door) -> None:
    """Every response has an id: the proxy's where it is a plain word, else a new one."""
    given = post(sample, {"model": "a"}, {"x-request-id": "abc-123"})
    assert given.headers["x-request-id"] == "abc-123"
    ids = {post(sample, {"model": "a"}).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    for strange in ("a b", "x" * 65, "a\r\nb: c", "é", ""):
        assert post(sample, {"model": "a"}, {"x-request-id": strange}).headers["x-request-id"] != strange


def test_a_wrong_host_header_is_a_malformed_request(sample: Door) -> None:
    """What the router cannot read is the client's error."""
    response = ask(sample, "GET", "/livez", headers={"host": "a b"})
    assert (response.status, response.json()["type"]) == (400, "/docs/problems/malformed_request")


def test_a_request_takes_no_thread_and_no_task(sample: Door) -> None:
    """Threads and task groups (sync handlers, several dependencies) double the cost of a request."""

    async def counting() -> int:
        made = 0

        def factory(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
            nonlocal made
            made += 1
            return asyncio.Task(coro, loop=loop, **kwargs)

        asyncio.get_running_loop().set_task_factory(factory)
        await asking(sample, "POST", "/ask", '{"model":"a"}', JSON)
        await asking(sample, "GET", "/things/l4")
        await asking(sample, "GET", "/livez")
        return made

    before = threading.active_count()
    assert asyncio.run(counting()) == 0
    assert threading.active_count() == before


def test_each_body_gets_its_own_answer(sample: Door) -> None:
    """Nothing keyed by the path alone stands between a POST and its answer."""
    assert [post(sample, {"model": "a", "batch": batch}).json()["batch"] for batch in (1, 2, 1)] == [1, 2, 1]


def test_the_same_request_gives_the_same_bytes(sample: Door) -> None:
    """Answers have no time, no id and no order of chance in them."""
    assert post(sample, {"model": "a"}).body == post(sample, {"model": "a"}).body


def test_answers_name_their_language(sample: Door) -> None:
    """Content-Language says what Accept-Language or `language` led to, and caches are told."""
    response = post(sample, {"model": "a"}, {"accept-language": "zh-TW,zh;q=0.9"})
    assert response.headers["content-language"] == response.json()["language"] == "zh"
    assert response.headers["vary"] == "accept-language"
    assert post(sample, {"model": "a", "language": "es"}).headers["content-language"] == "es"


def test_lines_are_json_without_local_variables() -> None:
    """One object a line, exceptions as text, and no body in it."""
    program = (
        "from cardmatch import logs; from cardmatch.settings import LogLevel; import logging\n"
        "logs.configure(LogLevel.INFO)\n"
        "from tests.http.asking import post; from tests.http.sample import door\n"
        "app = door()\n"
        "post(app, {'model': 'a', 'fail': 'crash', 'config': {'key': 'hush-hush'}})\n"
        "logging.getLogger('library').warning('it %s', 'works')\n"
    )
    lines = _run(program)
    assert [line["event"] for line in lines] == ["request.failed", "request", "it works"]
    assert all({"level", "timestamp"} <= line.keys() for line in lines)
    assert "RuntimeError: the secret" in lines[0]["exception"]
    assert "hush" not in str(lines)


def _run(program: str) -> list[dict[str, Any]]:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program]
    environment = {"PYTHONPATH": f"{root / 'service'}:{root}"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def test_what_is_too_much_at_a_time_is_refused_at_once() -> None:
    """503 with Retry-After before the body is read, while probes and metrics go on; nine tenths of the connections."""
    app = door(Settings(backpressure=10))
    app._meter.in_flight = 8
    assert post(app, {"model": "a"}).status == 200
    app._meter.in_flight = 9
    response = ask(app, "POST", "/ask", chunks=[None], headers=JSON)
    assert (response.status, response.headers["retry-after"]) == (503, "1")
    assert response.json()["type"] == "/docs/problems/unavailable"
    assert [ask(app, "GET", url).status for url in ("/livez", "/readyz", "/metrics")] == [200, 200, 200]
    assert app._meter.in_flight == 9
