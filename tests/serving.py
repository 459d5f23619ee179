"""A real server for tests: `cardmatch serve` on a free port of the loopback."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent


class Served(msgspec.Struct):
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connect(self, timeout: float = 10) -> http.client.HTTPConnection:
        """A new connection to it."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout: float = 10) -> socket.socket:
        """The same, for what no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)


@contextlib.contextmanager
def serving(
    folder: Path, environ: Mapping[str, str] | None = None, under: Sequence[str] = (), log: Path | None = None
) -> Iterator[Served]:
    """The service with *environ* added to ours, from when it is ready to the end of the block.

    Its log is in *folder*, or goes to *log*; *under* is a command that runs it.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = log or folder / "log"
    command = [*under, sys.executable, "-m", "cardmatch.cli", "serve", "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "service"), **(environ or {})}
    with log.open("wb") as stdout:
        process = subprocess.Popen(command, env=env, stdout=stdout, stderr=subprocess.STDOUT)
    server = Served(process, port, log)
    try:
        wait_until_ready(server)
        yield server
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and its workers, which would outlive it if it were killed at once."""
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until_ready(server: Served) -> None:
    """Come back when it answers; AssertionError with its log where it does not."""
    for _ in range(300):
        try:
            connection = server.connect()
            connection.request("GET", "/readyz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            assert server.process.poll() is None, logged(server)
            time.sleep(0.1)
        else:
            return
    raise AssertionError(logged(server))


def logged(server: Served) -> str:
    """What it wrote, as far as that can be read."""
    return server.log.read_text() if server.log.is_file() else ""
