"""`cardmatch serve`: a real server, started and stopped as in production."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest


class Served(msgspec.Struct):
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connect(self) -> http.client.HTTPConnection:
        """A new connection to it."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service on a free port of the loopback, with one variable set wrongly spelt."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    environ = {**os.environ, "PYTHONPATH": str(root / "service"), "CARDMATCH_BIND_PORT": "1", "CARDMATCH_WORKER": "9"}
    command = [sys.executable, "-m", "cardmatch.cli", "serve", "--port", str(port)]
    with log.open("wb") as stdout:
        process = subprocess.Popen(command, env=environ, stdout=stdout, stderr=subprocess.STDOUT)
    server = Served(process, port, log)
    try:
        _wait(server)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait(server: Served) -> None:
    for _ in range(300):
        try:
            connection = server.connect()
            connection.request("GET", "/readyz")
            connection.getresponse().read()
        except OSError:
            assert server.process.poll() is None, server.log.read_text()
            time.sleep(0.1)
        else:
            return
    raise AssertionError(server.log.read_text())


def test_it_answers(served: Served) -> None:
    """The probes answer over a real socket, and the connection stays open."""
    connection = served.connect()
    for _ in range(2):
        connection.request("GET", "/livez")
        response = connection.getresponse()
        assert response.status == 200
        assert json.loads(response.read())["status"] == "alive"


def test_what_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    """The client gets its problem while the body is still on its way."""
    connection = served.connect()
    connection.putrequest("POST", "/nope")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(50 << 20))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 404
    assert response.getheader("content-type") == "application/problem+json"


def test_a_wrong_setting_stops_the_start(root: Path) -> None:
    """Exit status 2 and the name of the variable, not a stack."""
    environ = {**os.environ, "PYTHONPATH": str(root / "service"), "CARDMATCH_WORKERS": "none"}
    command = [sys.executable, "-m", "cardmatch.cli", "serve"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "CARDMATCH_WORKERS" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_ends_cleanly_and_every_line_was_json(served: Served) -> None:
    """SIGTERM ends it with status 0; the log holds the start, the misspelt variable, and objects only."""
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(timeout=20) == 0
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert "service.starting" in events
    assert any(line.get("variable") == "CARDMATCH_WORKER" for line in lines)
