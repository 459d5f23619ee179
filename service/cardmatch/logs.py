"""Structured logs: one JSON object a line on standard output, from our code, the server and the libraries alike.

No line holds a body, a header or a key; an exception is logged with its stack but without local variables.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgspec
import structlog

from cardmatch.settings import LogLevel

_LEVELS = {LogLevel.DEBUG: 10, LogLevel.INFO: 20, LogLevel.WARNING: 30, LogLevel.ERROR: 40}
_SHARED: list[Any] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def _encode(value: Any, **_: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=str)


def _encode_text(value: Any, **_: Any) -> str:
    return _encode(value).decode()


def configure(level: LogLevel) -> None:
    """Send structlog's lines of *level* and above to standard output; call once, before the first line."""
    structlog.configure(
        processors=[*_SHARED, structlog.processors.JSONRenderer(_encode)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(file=sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(_LEVELS[level], logging.WARNING), handlers=[_handler()], force=True)


def for_server(level: LogLevel) -> dict[str, Any]:
    """A dictConfig that gives granian's own loggers the same form."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "cardmatch.logs.json_formatter"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stdout"}},
        "loggers": {"_granian": {"handlers": ["console"], "level": _LEVELS[level], "propagate": False}},
    }


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
