"""Run every scenario in turn: `python -m tests.soak [--minutes 10]`. Status 1 where one does not hold."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.serving import Served, serving, wait_until_ready
from tests.soak.traffic import CLIENTS, Traffic
from tests.soak.workers import descriptors, resident_bytes, workers

TWO = {
    "CARDMATCH_WORKERS": "2",
    "CARDMATCH_HEADER_READ_TIMEOUT_SECONDS": "2",
    "CARDMATCH_BODY_READ_TIMEOUT_SECONDS": "3",
}
GROWTH = 0.05
IDLE = 1000
GARBAGE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n{",
    b"POST /cost HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /cards HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET /cards HTTP/1.1\r\nHost: a\r\n\r\n" * 50,
    b"\0" * 4096,
]


def memory(server: Served, seconds: float) -> str:
    """Mixed traffic: no answer but the documented one, and memory that stays flat after a fifth of the time."""
    with Traffic(server) as traffic:
        time.sleep(seconds * 0.2)
        before = sum(map(resident_bytes, workers(server)))
        time.sleep(seconds * 0.8)
        after = sum(map(resident_bytes, workers(server)))
    assert not traffic.wrong, traffic.wrong
    assert traffic.cut == 0, f"{traffic.cut} requests were cut off"
    growth = after / before - 1
    assert growth <= GROWTH, f"memory grew by {growth:.1%}"
    return f"{traffic.answered} answers, memory {growth:+.1%}"


def slow_clients(server: Served, _: float) -> str:
    """Headers and bodies that never end are given up, while others are answered."""
    with Traffic(server, 2) as traffic:
        slow = [server.socket() for _ in range(50)]
        for number, each in enumerate(slow):
            each.sendall(b"POST /cost HTTP/1.1\r\nHost: a\r\n")
            if number % 2:
                each.sendall(b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        told = [each.recv(100)[:12] for each in slow]
        for each in slow:
            each.close()
    assert set(told[1::2]) == {b"HTTP/1.1 408"}, set(told)
    assert not traffic.wrong, traffic.wrong
    return f"{len(slow)} given up, {traffic.answered} others answered"


def idle_connections(server: Served, _: float) -> str:
    """A thousand connections that say nothing keep nobody out."""
    idle = [server.socket() for _ in range(IDLE)]
    with Traffic(server, 2) as traffic:
        time.sleep(2)
    for each in idle:
        each.close()
    assert traffic.answered > 100, f"only {traffic.answered} answered"
    assert not traffic.wrong, traffic.wrong
    return f"{IDLE} idle, {traffic.answered} answered"


def malformed(server: Served, _: float) -> str:
    """What is not HTTP ends its own connection and nothing else; no descriptor is left open."""
    before = sum(map(descriptors, workers(server)))
    for _ in range(20):
        for garbage in GARBAGE:
            with server.socket(timeout=5) as connection:
                try:
                    connection.sendall(garbage)
                    connection.recv(65536)
                except OSError:
                    continue
    wait_until_ready(server)
    time.sleep(4)
    left = sum(map(descriptors, workers(server))) - before
    assert left <= 2 * CLIENTS, f"{left} descriptors are left"
    return f"{20 * len(GARBAGE)} tries, {left:+d} descriptors"


def killed_worker(server: Served, _: float) -> str:
    """Kill -9 of one of two workers loses at most what its clients had in flight; another takes its place."""
    with Traffic(server) as traffic:
        time.sleep(1)
        lost = workers(server)[0]
        os.kill(lost, signal.SIGKILL)
        time.sleep(6)
        assert len(workers(server)) == 2
        assert lost not in workers(server)
    assert not traffic.wrong, traffic.wrong
    assert traffic.cut <= 2 * CLIENTS, f"{traffic.cut} requests were lost"
    return f"{traffic.cut} of {traffic.answered} lost"


SCENARIOS: tuple[Callable[[Served, float], str], ...] = (
    memory, slow_clients, idle_connections, malformed, killed_worker,
)  # fmt: skip


def main() -> int:
    """Print a line for each scenario."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for mixed traffic (default: 10)")
    seconds = parser.parse_args().minutes * 60
    failed = 0
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), TWO) as server:
            try:
                print(f"{scenario.__name__:<18} {scenario(server, seconds)}", flush=True)
                assert "request.failed" not in server.log.read_text(), "the log has a stack"
            except (AssertionError, OSError) as problem:
                failed += 1
                print(f"{scenario.__name__:<18} FAILED: {problem}", flush=True)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(timeout=30) == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
