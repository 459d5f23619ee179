"""What clients do to a server: too slowly, too much, half, or not in HTTP at all."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from pathlib import Path

from tests.serving import Served, logged, serving
from tests.soak.traffic import Traffic
from tests.soak.workers import descriptors, resident_bytes, workers

TWO = {
    "CARDMATCH_WORKERS": "2",
    "CARDMATCH_HEADER_READ_TIMEOUT_SECONDS": "2",
    "CARDMATCH_BODY_READ_TIMEOUT_SECONDS": "2",
}
GROWTH = 0.05
PIPELINED = 50
GARBAGE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n{",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /cards HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET /cards HTTP/1.1\nHost a\n\n",
    b"\0" * 4096,
]
POST = b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
TOO_LARGE = 5 << 20


def memory(folder: Path, seconds: float) -> str:
    """Mixed traffic: no answer but the documented one, and memory that stays flat after a fifth of the time."""
    with serving(folder, TWO) as server:
        with Traffic(server) as traffic:
            time.sleep(seconds * 0.2)
            before = sum(map(resident_bytes, workers(server)))
            time.sleep(seconds * 0.8)
            after = sum(map(resident_bytes, workers(server)))
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, f"{traffic.lost.total()} requests were cut off"
        growth = after / before - 1
        assert growth <= GROWTH, f"memory grew by {growth:.1%}"
        assert "request.failed" not in logged(server), "the log has a stack"
        return f"{traffic.answered} answers, memory {growth:+.1%} to {after / 2**20:.0f} MiB in two workers"


def slow_clients(folder: Path, scale: float) -> str:
    """Headers and bodies that never end are given up, while others are answered."""
    number = round(100 * scale)
    with serving(folder, TWO) as server:
        with Traffic(server, 2) as traffic:
            slow = [server.socket() for _ in range(number)]
            for index, each in enumerate(slow):
                each.sendall(POST)
                if index % 2:
                    each.sendall(b"Content-Length: 100\r\n\r\n{")
            began = time.monotonic()
            told = [_received(each)[:12] for each in slow]
            waited = time.monotonic() - began
        _close(slow)
        assert set(told[1::2]) == {b"HTTP/1.1 408"}, set(told)
        assert set(told[::2]) <= {b"HTTP/1.1 408", b""}, set(told)
        assert waited < 8, f"given up after {waited:.1f} s"
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, traffic.lost
        return f"{number} given up within {waited:.1f} s, {traffic.answered} others answered"


def idle_connections(folder: Path, scale: float) -> str:
    """A thousand connections that say nothing keep nobody out, and are closed before they have been there long."""
    number = round(1000 * scale)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving(folder, TWO) as server:
        idle = [server.socket() for _ in range(number)]
        with Traffic(server, 2) as traffic:
            time.sleep(1.5)
        began = time.monotonic()
        assert not any(_received(each) for each in idle), "one was told something"
        waited = time.monotonic() - began
        _close(idle)
        assert traffic.answered > 100, f"only {traffic.answered} answered"
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, traffic.lost
        return f"{number} idle, {traffic.answered} answered beside, all closed {waited:.1f} s later"


def malformed(folder: Path, scale: float) -> str:
    """What is not HTTP ends its own connection and nothing else; no descriptor is left open."""
    rounds = round(20 * scale)
    with serving(folder, TWO) as server:
        before = _settled(server)
        with Traffic(server, 1) as traffic:
            for _ in range(rounds):
                for garbage in GARBAGE:
                    with server.socket(timeout=8) as connection, contextlib.suppress(ConnectionError):
                        connection.sendall(garbage)
                        answer = connection.recv(65536)
                        assert not answer.startswith((b"HTTP/1.1 2", b"HTTP/1.1 5")), (garbage[:40], answer[:40])
        left = _left(server, before)
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, traffic.lost
        assert left <= 2, f"{left} descriptors are left"
        return f"{rounds * len(GARBAGE)} tries, {traffic.answered} answers beside, {left:+d} descriptors"


def pipelined(folder: Path, scale: float) -> str:
    """Requests that do not wait for each other's answers get them in order, each whole."""
    rounds = round(20 * scale)
    paths = [b"/livez", b"/nothing", b"/cards/l4"]
    with serving(folder, TWO) as server:
        for _ in range(rounds):
            with server.socket() as connection:
                asked = [paths[number % 3] for number in range(PIPELINED)]
                connection.sendall(b"".join(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path for path in asked[:-1]))
                connection.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % asked[-1])
                told = _received(connection)
            statuses = [int(part[:3]) for part in told.split(b"HTTP/1.1 ")[1:]]
            expected = {b"/nothing": 404}
            assert statuses == [expected.get(path, 200) for path in asked], statuses
        return f"{rounds * PIPELINED} answered in order"


def bodies(folder: Path, scale: float) -> str:
    """Too large, announced or not, is 413; half a body and a closed connection leave nothing behind."""
    rounds = round(100 * scale)
    with serving(folder, TWO) as server:
        before = _settled(server)
        with Traffic(server, 1) as traffic:
            for _ in range(rounds):
                for head in (b"Content-Length: %d\r\n\r\n" % TOO_LARGE, b"Transfer-Encoding: chunked\r\n\r\n"):
                    assert _posted(server, head) == b"HTTP/1.1 413", head
                with server.socket() as connection:
                    connection.sendall(POST + b'Content-Length: 1000\r\n\r\n{"options":')
        left = _left(server, before)
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, traffic.lost
        assert left <= 2, f"{left} descriptors are left"
        assert "request.failed" not in logged(server), "the log has a stack"
        return f"{2 * rounds} too large, {rounds} half, {traffic.answered} answers beside, {left:+d} descriptors"


def _posted(server: Served, head: bytes) -> bytes:
    """The status line of a body that is larger than allowed, of which only a part is sent unless more is wanted."""
    chunk = b" " * 65536
    with server.socket() as connection:
        connection.sendall(POST + head)
        with contextlib.suppress(ConnectionError):
            for _ in range(TOO_LARGE // len(chunk)):
                connection.sendall(b"10000\r\n" + chunk + b"\r\n" if b"chunked" in head else chunk)
        with contextlib.suppress(ConnectionError):
            return connection.recv(65536)[:12]
    return b""


def _settled(server: Served) -> int:
    """How many descriptors are open once every worker has started."""
    counts = [-1]
    while len(counts) < 4 or len(set(counts[-4:])) > 1:
        time.sleep(0.25)
        counts.append(sum(map(descriptors, workers(server))))
    return counts[-1]


def _left(server: Served, before: int) -> int:
    """How many descriptors are open that were not, once what times out has."""
    ends = time.monotonic() + 6
    while (left := sum(map(descriptors, workers(server))) - before) > 0 and time.monotonic() < ends:
        time.sleep(0.1)
    return left


def _received(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    connection.settimeout(15)
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def _close(connections: list[socket.socket]) -> None:
    for each in connections:
        each.close()
