"""`cardmatch serve`: a real server, started and stopped as in production."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cardmatch.cli import serve
from cardmatch.settings import Settings
from tests.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service on a free port of the loopback, with one variable set wrongly spelt."""
    wrong = {"CARDMATCH_BIND_PORT": "1", "CARDMATCH_WORKER": "9"}
    with serving(tmp_path_factory.mktemp("serve"), wrong) as server:
        yield server


def test_it_answers(served: Served) -> None:
    """The probes answer over a real socket, and the connection stays open."""
    connection = served.connect()
    for _ in range(2):
        connection.request("GET", "/livez")
        response = connection.getresponse()
        assert response.status == 200
        assert json.loads(response.read())["status"] == "alive"


def test_what_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    """The client gets its problem while the body that it announced is still on its way."""
    connection = served.connect()
    connection.putrequest("POST", "/estimate-vram")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(50 << 20))
    connection.endheaders(b"{")
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (413, "application/problem+json")
    assert json.loads(response.read())["type"] == "/docs/problems/too_large"


def test_what_turns_out_too_large_is_refused_on_the_way(served: Served) -> None:
    """A body in chunks, whose size nobody announced, is cut off at the limit."""
    connection = served.connect()
    chunks = (b" " * 65536 for _ in range(100))
    connection.request("POST", "/estimate-vram", chunks, {"Content-Type": "application/json"}, encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 413
    assert json.loads(response.read())["status"] == 413


def test_a_question_is_answered(served: Served) -> None:
    """A real model over a real socket: the weights of Llama 3.1 8B in bf16 are 8,030,261,248 × 2 bytes."""
    connection = served.connect()
    body = json.dumps({"model": "llama 3.1 8b", "cards": ["rtx-4090"]})
    connection.request("POST", "/estimate-vram", body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    assert answer["need"]["weights_bytes"] == 16_060_522_496


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


@pytest.mark.parametrize(("files", "connections"), [((4096, 4096), 1024), ((256, 4096), 1024), ((100, 100), 36)])
def test_no_more_connections_are_taken_than_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, files: tuple[int, int], connections: int
) -> None:
    """The limit that the process may raise is raised; under the one that it may not, it takes fewer connections."""
    limits = [files]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.insert(0, wanted))
    monkeypatch.setenv("CARDMATCH_BACKPRESSURE", "1024")
    assert serve._within_descriptors(Settings()).backpressure == connections
    assert os.environ["CARDMATCH_BACKPRESSURE"] == str(connections)
    assert limits[0] == (files[1], files[1])


def test_two_workers_tell_the_metrics_of_both(tmp_path: Path) -> None:
    """Over connections that may meet either, counts never go back, and within a second all of them are there."""
    with serving(tmp_path, {"CARDMATCH_WORKERS": "2"}) as server:
        for _ in range(20):
            connection = server.connect()
            connection.request("GET", "/cards")
            connection.getresponse().read()
            connection.close()
        told: list[int] = []
        while len(told) < 3 or told[-1] < 20:
            assert len(told) < 100
            told.append(_served(server, "/cards"))
            time.sleep(0.05)
        assert told == sorted(told)
        assert told[-1] == 20
        assert {_served(server, "/cards") for _ in range(10)} == {20}


def _served(server: Served, route: str) -> int:
    connection = server.connect()
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    found = re.search(rf'(?m)^cardmatch_requests_total\{{.*route="{route}".*\}} (\d+)', page)
    return int(found[1]) if found else 0
