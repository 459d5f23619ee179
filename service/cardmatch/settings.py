"""Settings: environment variables, read once, into a frozen struct. docs/settings.md describes each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

PREFIX = "CARDMATCH_"
# Kubernetes sets these for a service called cardmatch in every pod of the namespace; they are not ours.
_SERVICE_LINK = re.compile(r"CARDMATCH_(SERVICE_(HOST|PORT\w*)|PORT(_\w+)?)")


class LogLevel(StrEnum):
    """The least severe line that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set from outside. Field `name` is read from the variable `CARDMATCH_NAME`."""

    bind_host: Annotated[str, Meta(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    bind_port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 8000
    workers: Annotated[
        int, Meta(ge=1, le=64, description="Worker processes. In containers keep one and add replicas.")
    ] = 1
    backpressure: Annotated[
        int, Meta(ge=1, le=65536, description="Requests that one worker takes up at a time; the rest wait unread.")
    ] = 256
    header_read_timeout_seconds: Annotated[
        int, Meta(ge=1, le=300, description="Time for a client to send its request line and headers.")
    ] = 10
    body_read_timeout_seconds: Annotated[
        int, Meta(ge=1, le=300, description="Time for a client to send its body; then the answer is 408.")
    ] = 20
    shutdown_timeout_seconds: Annotated[
        int, Meta(ge=1, le=600, description="Time for requests in flight to end after SIGTERM before they are cut off.")
    ] = 20
    log_level: Annotated[LogLevel, Meta(description="Least severe line that is logged.")] = LogLevel.INFO
    log_slower_than_seconds: Annotated[
        float, Meta(ge=0, le=3600, description="A request that takes longer gets an access line; errors always do.")
    ] = 1.0


class BadSetting(Exception):  # noqa: N818 - it reads as a statement about the environment
    """A variable holds what its setting cannot take."""


def read(environ: Mapping[str, str]) -> Settings:
    """The settings in *environ*; raises BadSetting, naming the variable, where a value does not fit."""
    given = {
        name: environ[PREFIX + name.upper()] for name in Settings.__struct_fields__ if PREFIX + name.upper() in environ
    }
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as exc:
        what, _, path = str(exc).partition(" - at `$.")
        raise BadSetting(f"{PREFIX}{path.rstrip('`').upper()}: {what}") from exc


def unknown(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none: misspelt, or of another release."""
    known = {PREFIX + name.upper() for name in Settings.__struct_fields__}
    return sorted(
        name for name in environ if name.startswith(PREFIX) and name not in known and not _SERVICE_LINK.fullmatch(name)
    )
