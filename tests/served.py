"""The service as it is run: `cardmatch serve` in a process of its own, on a free port, its log in a file."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from tests.conftest import ROOT
from tests.redis_server import free_port


class Served:
    """A server with the variables of *environ*, whose log lies in *folder*."""

    def __init__(self, folder: Path, **environ: str) -> None:
        """Start it and come back when it is ready."""
        self.port = free_port()
        self.log = folder / f"serve-{self.port}.log"
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "service"), **environ}
        command = [sys.executable, "-m", "cardmatch.cli", "serve", "--port", str(self.port)]
        began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)
        while self._not_ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() - began < 30, self.log.read_text()
            time.sleep(0.005)
        self.ready_after_seconds = time.monotonic() - began
        self.worked_seconds = _worked(self.process.pid)

    def get(self, path: str) -> Any:
        """The answer to a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return msgspec.json.decode(connection.getresponse().read())
        finally:
            connection.close()

    def events(self) -> list[str]:
        """What the log tells, in its order."""
        return [str(msgspec.json.decode(line).get("event")) for line in self.log.read_bytes().splitlines()]

    def stop(self) -> None:
        """End it, and wait."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _not_ready(self) -> bool:
        try:
            return bool(self.get("/readyz")["status"] != "ready")
        except OSError:
            return True


def _worked(pid: int) -> float:
    """CPU time of a process and of its children so far, in seconds."""
    task = Path("/proc") / str(pid)
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    children = (task / "task" / str(pid) / "children").read_text().split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") + sum(_worked(int(child)) for child in children)
