"""`cardmatch serve`: the HTTP service under granian, in this process and its workers."""

from __future__ import annotations

import argparse
import os
import sys

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer as Server

from cardmatch import logs, settings
from cardmatch.settings import BadSetting, Settings

BAD_INPUT = 2


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
    _server(chosen).serve()
    return 0


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
