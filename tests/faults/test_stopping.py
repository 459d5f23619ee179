"""SIGTERM: whatever was accepted is answered, and the process ends by itself."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.serving import Served, serving
from tests.soak.workers import workers

BODY = json.dumps({"model": "llama 3.1 8b", "cards": ["rtx-4090"]}).encode()
HEAD = (
    "POST /estimate-vram HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
).encode()


def _rest(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_requests_whose_bodies_are_still_coming_are_answered(tmp_path: Path) -> None:
    """Forty requests have half their body sent when SIGTERM comes; each gets its answer, and the status is 0."""
    with serving(tmp_path) as server, ExitStack() as stack:
        connections = [stack.enter_context(server.socket()) for _ in range(40)]
        for connection in connections:
            connection.sendall(HEAD + BODY[:20])
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(1.0)
        for connection in connections:
            connection.sendall(BODY[20:])
        answers = [_rest(connection) for connection in connections]
        assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 40
        assert all(json.loads(answer.partition(b"\r\n\r\n")[2])["need"] for answer in answers)
        assert server.process.wait(timeout=20) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_under_load_every_request_that_was_taken_up_is_answered(tmp_path: Path, workers: int) -> None:
    """Eight clients ask without pause: as many answers arrive whole as the server's log says that it gave."""
    environ = {"CARDMATCH_LOG_SLOWER_THAN_SECONDS": "0", "CARDMATCH_WORKERS": str(workers)}
    with serving(tmp_path, environ) as server:
        outcomes: Counter[bytes] = Counter()

        def client() -> None:
            with server.socket() as connection:
                while (status := _ask(connection)) == b"200":
                    outcomes[status] += 1
                outcomes[status] += 1

        clients = [threading.Thread(target=client) for _ in range(8)]
        for each in clients:
            each.start()
        time.sleep(1.0)
        server.process.send_signal(signal.SIGTERM)
        for each in clients:
            each.join(timeout=20)
        assert server.process.wait(timeout=20) == 0
        assert outcomes[b"200"] > 100
        assert set(outcomes) <= {b"200", b""}, "an answer was cut off"
        assert _logged(server) == outcomes[b"200"]


def test_workers_do_not_outlive_a_server_that_was_killed(tmp_path: Path) -> None:
    """Kill -9 of the process that started them ends both within seconds, so that the port is free for the next."""
    with serving(tmp_path, {"CARDMATCH_WORKERS": "2"}) as server:
        left = workers(server)
        server.process.kill()
        server.process.wait()
        ends = time.monotonic() + 15
        while any(Path(f"/proc/{pid}").exists() for pid in left):
            assert time.monotonic() < ends, "a worker goes on"
            time.sleep(0.1)


def _logged(server: Served) -> int:
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    return sum(line["event"] == "request" and line["path"] == "/estimate-vram" for line in lines)


def _ask(connection: socket.socket) -> bytes:
    """The status of one answer that came whole; `cut` where it began and did not end; nothing where none began."""
    request = HEAD.replace(b"Connection: close\r\n", b"") + BODY
    received = b""
    try:
        connection.sendall(request)
        while b"\r\n\r\n" not in received:
            if not (part := connection.recv(65536)):
                return b"cut" if received else b""
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            if not (part := connection.recv(65536)):
                return b"cut"
            body += part
    except ConnectionError:
        return b"cut" if received else b""
    return head.split()[1]
