"""Fetching price lists: over real HTTP, from a server on this machine that behaves badly on request."""

import http.server
import pathlib
import threading
import time
from collections.abc import Iterator

import pytest

from cardmatch.catalogue.importers.fetch import fetch
from cardmatch.catalogue.importers.files import Unreadable


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str]] = []  # noqa: RUF012 - shared on purpose: what all requests carried
    tunnels: list[str] = []  # noqa: RUF012 - shared on purpose: where clients wanted to be connected to

    def do_CONNECT(self) -> None:
        """Refuse to be a proxy, and remember for what."""
        Handler.tunnels.append(self.path)
        self._send(403, b"")

    def do_GET(self) -> None:
        """Answer one request."""
        Handler.seen.append({key.lower(): value for key, value in self.headers.items()})
        if self.path == "/tagged" and self.headers.get("If-None-Match") == '"v1"':
            self._send(304, b"", ETag='"v1"')
        elif self.path == "/tagged":
            self._send(200, b"body", ETag='"v1"')
        elif self.path == "/moved":
            self._send(302, b"", Location="/tagged")
        elif self.path == "/away":
            self._send(302, b"", Location="http://example.invalid/list")
        elif self.path == "/loop":
            self._send(302, b"", Location="/loop")
        elif self.path == "/file":
            self._send(302, b"", Location="file:///etc/hostname")
        elif self.path == "/large":
            self._send(200, b"x" * 10_000)
        elif self.path == "/slow":
            self._drip()
        else:
            self._send(503, b"busy")

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            try:
                self.wfile.write(b"x")
            except OSError:
                return
            time.sleep(0.02)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def base() -> Iterator[str]:
    """The address of the server."""
    Handler.seen, Handler.tunnels = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_unchanged_list_comes_from_the_cache(base: str, tmp_path: pathlib.Path) -> None:
    """The second time the server is asked with the ETag, and says 304."""
    first = fetch(f"{base}/tagged", cache=tmp_path)
    second = fetch(f"{base}/tagged", cache=tmp_path)
    assert (first.body, first.unchanged) == (b"body", False)
    assert (second.body, second.unchanged) == (b"body", True)
    assert Handler.seen[1]["if-none-match"] == '"v1"'


def test_without_a_cache_nothing_is_conditional(base: str) -> None:
    """There is no body to fall back on."""
    fetch(f"{base}/tagged")
    assert not fetch(f"{base}/tagged").unchanged


def test_a_broken_cache_is_fetched_anew(base: str, tmp_path: pathlib.Path) -> None:
    """Garbage in the folder costs one full answer."""
    fetch(f"{base}/tagged", cache=tmp_path)
    for path in tmp_path.glob("*.json"):
        path.write_bytes(b"garbage")
    assert fetch(f"{base}/tagged", cache=tmp_path).body == b"body"


def test_a_full_disk_costs_the_next_answer_and_not_this_one(base: str, tmp_path: pathlib.Path) -> None:
    """What was kept before is not believed either, since half of something else may lie in its place."""
    fetch(f"{base}/tagged", cache=tmp_path)
    (body,) = tmp_path.glob("*.body")
    for path in tmp_path.glob("*.json"):
        path.write_bytes(b"{}")
    body.unlink()
    body.symlink_to("/dev/full")
    assert fetch(f"{base}/tagged", cache=tmp_path).body == b"body"
    assert list(tmp_path.glob("*.json")) == []


def test_a_redirect_is_followed_and_keys_stay_with_their_host(base: str) -> None:
    """Within the host the header goes along."""
    assert fetch(f"{base}/moved", headers={"X-API-KEY": "secret"}).body == b"body"
    assert [seen.get("x-api-key") for seen in Handler.seen] == ["secret", "secret"]


@pytest.mark.parametrize("path", ["/missing", "/loop", "/file", "/away"])
def test_what_is_not_a_list_is_unreadable(base: str, path: str) -> None:
    """An error, an endless redirect, another kind of address, plain HTTP to another host."""
    with pytest.raises(Unreadable, match=path):
        fetch(f"{base}{path}")


def test_a_list_beyond_the_limit_is_refused(base: str) -> None:
    """Reading stops there."""
    with pytest.raises(Unreadable, match="larger"):
        fetch(f"{base}/large", largest_bytes=5_000)


def test_a_dripping_server_is_given_up(base: str) -> None:
    """The whole body must come in time, however many small pieces arrive."""
    start = time.monotonic()
    with pytest.raises(Unreadable, match="long"):
        fetch(f"{base}/slow", total_seconds=0.2)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("url", ["http://192.0.2.1/list", "ftp://example.org/list", "https://", "file:///etc/hostname"])
def test_only_https_leaves_this_machine(url: str) -> None:
    """No other address is even tried."""
    with pytest.raises(Unreadable):
        fetch(url, total_seconds=1)


def test_a_server_that_is_not_there_is_unreadable() -> None:
    """A closed port is reported with the address."""
    with pytest.raises(Unreadable, match=r"127\.0\.0\.1:9"):
        fetch("http://127.0.0.1:9/list")


def test_https_goes_through_the_proxy_of_the_environment(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's egress proxy is asked for a tunnel, unless the host is exempt."""
    monkeypatch.setenv("HTTPS_PROXY", base)
    with pytest.raises(Unreadable, match="403"):
        fetch("https://prices.example/list")
    assert Handler.tunnels == ["prices.example:443"]
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(Unreadable):
        fetch("https://127.0.0.1:9/list")
    assert Handler.tunnels == ["prices.example:443"]
