"""What a client writes must stay what it is: no header, no log line, no page of ours may be made from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cardmatch.http.door import Door
from cardmatch.settings import Settings
from tests.http.asking import ask, post
from tests.http.sample import door

NASTY = [
    "a\r\nset-cookie: x=1",
    "\n\n",
    "<script>alert(1)</script>",
    "\x1b[31m",
    "é\u2028",
    "%0d%0aset-cookie:x",
    "'\";--",
]


@pytest.mark.parametrize("text", NASTY)
def test_nothing_from_a_request_becomes_a_header(sample: Door, text: str) -> None:
    """Every header value stays one line, and none that we did not mean appears."""
    header = text.encode("utf-8").decode("latin-1")
    responses = [
        post(sample, {"model": text}),
        post(sample, {"model": "a"}, {"x-request-id": header, "accept-language": header, "origin": header}),
        post(sample, {"model": "a"}, {"content-type": header}),
        ask(sample, "GET", f"/things/{text}"),
        ask(sample, "GET", f"/things/l4?{text}={text}", headers={"if-none-match": header, "user-agent": header}),
        ask(sample, "GET", f"/docs/problems/{text}"),
    ]
    for response in responses:
        assert response.status < 500
        assert "set-cookie" not in response.headers
        for value in response.headers.values():
            assert value.isascii()
            assert value.isprintable()


def test_every_answer_forbids_guessing(sample: Door) -> None:
    """JSON that holds a client's words must not be taken for a page by a browser."""
    for url in ("/things/l4", "/nothing", "/docs", "/openapi.json", "/metrics", "/livez"):
        headers = ask(sample, "GET", url).headers
        assert headers["x-content-type-options"] == "nosniff", url
        assert headers["referrer-policy"] == "no-referrer", url
        assert "server" not in headers
    for response in (post(sample, {"model": "a"}), post(sample, {"model": "<script>"}), post(sample, "<script>")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-type"] in {"application/json", "application/problem+json"}


def test_pages_run_no_script_of_others(sample: Door) -> None:
    """The documentation names its own files, and no page may frame it."""
    policy = ask(sample, "GET", "/docs").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self';" in policy


def test_a_log_line_cannot_be_forged(root: Path) -> None:
    """Line ends and control characters of a path, a user agent or an id stay within their line's string."""
    program = (
        "from cardmatch import logs; from cardmatch.settings import LogLevel\n"
        "logs.configure(LogLevel.INFO)\n"
        "from tests.http.asking import ask; from tests.http.sample import door\n"
        "from tests.http.test_injection import NASTY\n"
        "for text in NASTY:\n"
        '    forged = text + \'\\n{"event":"forged"}\'\n'
        "    header = forged.encode().decode('latin-1')\n"
        "    sent = {'user-agent': header, 'x-request-id': header, 'x-api-key': 'hush'}\n"
        "    ask(door(), 'GET', '/' + forged, headers=sent)\n"
    )
    command = [sys.executable, "-c", program]
    environment = {"PYTHONPATH": f"{root / 'service'}:{root}"}
    written = subprocess.run(command, capture_output=True, check=True, env=environment).stdout
    lines = [msgspec.json.decode(line) for line in written.splitlines()]
    assert [line["event"] for line in lines] == ["request"] * len(NASTY)
    assert b"\x1b" not in written
    assert b"hush" not in written


def test_a_key_never_reaches_the_log_or_the_answer(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither a right nor a wrong one, nor a digest."""
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    app = door(Settings(api_keys=f"team={digest}", log_slower_than_seconds=0.0))
    bodies = [post(app, {"model": "a"}, {"x-api-key": key}).body for key in ("abc", "hush-hush")]
    written = capfd.readouterr()
    for text in (*map(bytes.decode, bodies), written.out, written.err):
        assert "hush-hush" not in text
        assert digest not in text
