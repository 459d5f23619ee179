"""Real redis-servers for tests: on a socket in a folder of their own, or on a free port of the loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import redis

from cardmatch.catalogue.shared.address import parse
from cardmatch.catalogue.shared.connect import Link


def programs() -> dict[str, str]:
    """Every server that this machine has, by name and version: Redis, older Redis, Valkey."""
    found: dict[str, str] = {}
    for name in ("redis-server", "redis-server-6", "valkey-server"):
        path = shutil.which(name)
        if path is not None:
            told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            brand, version = told.split()[0].lower(), told.partition("v=")[2].split()[0]
            found.setdefault(f"{brand}-{version}", path)
    return found


def free_port() -> int:
    """A port that nobody listens on, and whose cluster bus (10000 above) is one too."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port < 55000:
            return port


class RedisServer:
    """A server in *folder*; with *port* on the loopback too. It keeps nothing on disk unless *options* say so."""

    def __init__(self, folder: Path, *options: str, port: int = 0, program: str | None = None) -> None:
        self.folder, self.port, self.options = folder, port, list(options)
        self.program = program or next(iter(programs().values()))
        # A socket's path may hold some hundred characters; a test's folder may be longer.
        self.socket = folder / "r.sock"
        self.password: str | None = None
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        """The address of its socket."""
        return f"unix://{':' + self.password + '@' if self.password else ''}{self.socket}"

    def start(self) -> None:
        """Start it, and come back when it answers."""
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket)]
        command += ["--save", "", "--appendonly", "no", "--dir", str(self.folder), *self.options]
        if self.password:
            command += ["--requirepass", self.password]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        for _ in range(500):
            assert self.process.poll() is None, (self.folder / "redis.log").read_text()
            try:
                self.ask("PING")
            except redis.ConnectionError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError("the server does not answer")

    def ask(self, *command: str | bytes | int) -> object:
        """Send one command over a connection of its own."""
        with redis.Redis(unix_socket_path=str(self.socket), password=self.password, socket_timeout=5) as client:
            return client.execute_command(*command)

    def stop(self) -> None:
        """Kill it at once; nothing is saved."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """Stop it answering, with every connection open."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def link(self, *, answer_seconds: float = 3.0) -> Link:
        """A way to it."""
        return Link(parse(self.url), answer_seconds=answer_seconds)
