"""One granian worker with an application, and what the kernel counts for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

CONNECTIONS = 16
ROOT = Path(__file__).resolve().parents[2]


class Server(msgspec.Struct, frozen=True):
    """A running worker: its process and its port."""

    worker: int
    port: int

    def cpu_seconds(self) -> float:
        """CPU time of all threads of the worker, from the scheduler's own nanosecond count."""
        total = 0
        for task in Path(f"/proc/{self.worker}/task").iterdir():
            with suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def resident_bytes(self) -> int:
        """Memory of the worker that is in RAM, shared pages included."""
        status = Path(f"/proc/{self.worker}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


@contextmanager
def serving(target: str, *, factory: bool) -> Iterator[Server]:
    """Serve *target* under granian, set up as `cardmatch serve` does, and stop it in the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--http", "1", "--no-ws", "--workers", "1"]
    command += ["--port", str(port), "--backpressure", "256", *(["--factory"] if factory else []), target]
    process = subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield Server(_worker(process.pid), port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def drive(server: Server, path: str, bodies: Iterator[bytes], seconds: float) -> int:
    """POST *bodies* over kept-alive connections for *seconds*; the number of answers, each of which must be a 200."""
    connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS)]
    answered, end = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for connection in connections:
                connection.sendall(_request(path, next(bodies)))
            for connection in connections:
                _read(connection)
            answered += CONNECTIONS
    finally:
        for connection in connections:
            connection.close()
    return answered


def _request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _read(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, rest = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(received.decode(errors="replace"))
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    left = length - len(rest)
    while left > 0:
        left -= len(connection.recv(65536))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'service'}:{ROOT}", "CARDMATCH_LOG_LEVEL": "error"}


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            time.sleep(0.5)  # the socket listens before the worker has loaded the application
            return
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


def _worker(parent: int) -> int:
    """The process that the supervisor started, not the resource tracker of multiprocessing."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    workers = [int(pid) for pid in children if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return workers[0]
