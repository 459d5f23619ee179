"""Structured logs: one JSON object a line on standard output, from our code, the server and the libraries alike.

No line holds a body, a header or a key; an exception is logged with its stack but without local variables. A line that
cannot be written (a full disk, a reader that went away) is counted and given up: it is never worth an answer.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import IO, Any

import msgspec
import structlog

from cardmatch.settings import LogLevel

_LEVELS = {LogLevel.DEBUG: 10, LogLevel.INFO: 20, LogLevel.WARNING: 30, LogLevel.ERROR: 40}
_SHARED: list[Any] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


_sinks: list[Sink] = []


class Sink:
    """Where lines of structlog go, or do not: *file* as far as it takes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.lost = 0

    def write(self, line: bytes) -> None:
        """Write *line*, or count it as lost."""
        try:
            self._file.write(line)
        except (OSError, ValueError):  # ValueError: it was closed
            self.lost += 1

    def flush(self) -> None:
        """Hand on what is buffered; what stays in the buffer for now goes with a later line."""
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()


def _encode(value: Any, **_: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=str)


def _encode_text(value: Any, **_: Any) -> str:
    return _encode(value).decode()


def configure(level: LogLevel) -> None:
    """Send structlog's lines of *level* and above to standard output; call once, before the first line."""
    sink = Sink(sys.stdout.buffer)
    structlog.configure(
        processors=[*_SHARED, structlog.processors.JSONRenderer(_encode)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(file=sink),  # type: ignore[arg-type] # enough
        cache_logger_on_first_use=True,
    )
    _sinks[:] = [sink]
    logging.raiseExceptions = False  # of a line that cannot be written the library would write one that cannot either
    logging.basicConfig(level=max(_LEVELS[level], logging.WARNING), handlers=[_handler()], force=True)


def for_server(level: LogLevel) -> dict[str, Any]:
    """A dictConfig that gives granian's own loggers the same form."""
    logging.raiseExceptions = False
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "cardmatch.logs.json_formatter"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stdout"}},
        "loggers": {"_granian": {"handlers": ["console"], "level": _LEVELS[level], "propagate": False}},
    }


def lost() -> int:
    """How many lines could not be written since `configure`."""
    return sum(sink.lost for sink in _sinks)


def json_formatter() -> logging.Formatter:
    """Turns the standard library's records into the lines that structlog writes."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_logger_name, *_SHARED],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(_encode_text),
        ],
    )


def _handler() -> logging.Handler:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(json_formatter())
    return handler
