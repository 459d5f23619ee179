"""`cardmatch serve`: the HTTP service under granian, in this process and its workers."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer as Server

from cardmatch import logs, settings
from cardmatch.settings import BadSetting, Settings

BAD_INPUT = 2
OTHER_DESCRIPTORS = 64
"""Open files of a worker beside connections: the loop, the log, Redis, a hub, pages; some 30 in all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to listen; everything else is set through the environment."""
    parser.add_argument("--host", help="address to listen on (default: CARDMATCH_BIND_HOST or 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: CARDMATCH_BIND_PORT or 8000)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; 2 if a setting is wrong."""
    given = {"CARDMATCH_BIND_HOST": arguments.host, "CARDMATCH_BIND_PORT": arguments.port}
    environ = {**os.environ, **{name: str(value) for name, value in given.items() if value is not None}}
    try:
        chosen = settings.read(environ)
    except BadSetting as exc:
        print(f"cardmatch: {exc}", file=sys.stderr)
        return BAD_INPUT
    with _shared_counts(chosen):
        _server(_within_descriptors(chosen)).serve()
    return 0


def _within_descriptors(chosen: Settings) -> Settings:
    """*chosen* with no more connections than there may be open files: a connection that waits beats one that breaks.

    Workers read the environment, so it says so too.
    """
    limit = _open_files()
    most = max(limit - OTHER_DESCRIPTORS, 1)
    if chosen.backpressure <= most:
        return chosen
    print(f"cardmatch: {limit} open files at most, so {most} connections at a time", file=sys.stderr)
    os.environ["CARDMATCH_BACKPRESSURE"] = str(most)
    return msgspec.structs.replace(chosen, backpressure=most)


def _open_files() -> int:
    """How many files a process may have open, once it may have as many as it is allowed to allow itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS has a limit above which it takes none
        hard = soft
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


@contextlib.contextmanager
def _shared_counts(chosen: Settings) -> Iterator[None]:
    """Give several workers a folder for what they count, in memory where the system has such a place."""
    if chosen.workers == 1 or not chosen.metrics or chosen.metrics_folder:
        yield
        return
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there
    with contextlib.ExitStack() as stack:
        try:
            where = memory if os.access(memory, os.W_OK) else None
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cardmatch-", dir=where))
        except OSError as exc:
            print(f"cardmatch: /metrics tells of one worker at a time: {exc}", file=sys.stderr)
        else:
            os.environ["CARDMATCH_METRICS_FOLDER"] = folder
        yield


def _server(chosen: Settings) -> Server:
    """Workers import `cardmatch.app` themselves, so this process stays small and free of the web framework."""
    return Server(
        "cardmatch.app:create_app",
        address=chosen.bind_host,
        port=chosen.bind_port,
        interface=Interfaces.ASGI,
        workers=chosen.workers,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=chosen.header_read_timeout_seconds * 1000),
        websockets=False,
        backpressure=chosen.backpressure,
        workers_kill_timeout=chosen.shutdown_timeout_seconds,
        respawn_failed_workers=True,
        log_level=LogLevels(chosen.log_level),
        log_dictconfig=logs.for_server(chosen.log_level),
        factory=True,
    )
