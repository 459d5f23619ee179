"""Settings: environment variables, read once, into a frozen struct. docs/settings.md describes each."""

from __future__ import annotations

import importlib.util
import pathlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import keys
from cardmatch.catalogue.shared.address import Address, BadAddress, TlsFiles, parse

PREFIX = "CARDMATCH_"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
# Kubernetes sets these for a service called cardmatch in every pod of the namespace; they are not ours. Of the names
# that a person would choose too, the value tells.
_SERVICE_LINK = re.compile(r"CARDMATCH_(SERVICE_(HOST|PORT\w*)|PORT_\d+_\w+)")
_LINKED_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


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
        int, Meta(ge=1, le=65536, description="Connections that a worker holds at a time, idle ones too; others wait.")
    ] = 1024
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
    redis_url: Annotated[
        str, Meta(description="Redis that holds the shared catalogue, see redis.md. Empty: the bundled one.")
    ] = ""
    redis_namespace: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9._:-]{1,64}$(?!\n)", description="What our keys in Redis begin with, in braces."),
    ] = "cardmatch"
    redis_poll_seconds: Annotated[
        float,
        Meta(ge=0.1, le=3600, description="Time between two looks for another snapshot; announcements come sooner."),
    ] = 5.0
    redis_ca_file: Annotated[
        str, Meta(description="PEM file of the authorities to trust with TLS. Empty: the system's.")
    ] = ""
    redis_certificate_file: Annotated[
        str, Meta(description="PEM file of our own certificate, where Redis asks for one.")
    ] = ""
    redis_key_file: Annotated[str, Meta(description="PEM file of its key. Empty: it lies with the certificate.")] = ""
    hub_url: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~/-]*)?)?$(?!\n)",
            description="Hugging Face-compatible hub to ask for models that the catalogue lacks. Empty: none.",
        ),
    ] = ""
    hub_token: Annotated[str, Meta(description="Token to show there.", pattern=r"^[!-~]*$(?!\n)")] = ""
    api_keys: Annotated[
        str, Meta(description="Who may ask: `name=digest,…`, see operations.md. Empty, with the next: everybody.")
    ] = ""
    api_keys_file: Annotated[str, Meta(description="A file of such entries, one a line; they add up.")] = ""
    rate_limit_per_minute: Annotated[
        float,
        Meta(ge=0, le=1e6, description="Requests a minute for each key or address, over all replicas. 0: no end."),
    ] = 0.0
    rate_limit_burst: Annotated[
        int, Meta(ge=1, le=100000, description="Requests that may come at once before that rate holds.")
    ] = 20
    trusted_proxies: Annotated[
        int, Meta(ge=0, le=16, description="Proxies in front whose X-Forwarded-For entries are true.")
    ] = 0
    cors_origins: Annotated[
        str, Meta(description="Origins whose pages may ask from a browser, with commas; `*`: all. Empty: none.")
    ] = ""
    metrics: Annotated[bool, Meta(description="Whether `/metrics` is there.")] = True
    metrics_folder: Annotated[
        str,
        Meta(description="Where workers write counts for each other. Empty: in memory, where there are several."),
    ] = ""
    traces: Annotated[
        bool, Meta(description="Whether OpenTelemetry spans are sent, as its OTEL_ variables say; needs `telemetry`.")
    ] = False


class BadSetting(Exception):  # noqa: N818 - it reads as a statement about the environment
    """A variable holds what its setting cannot take."""


def read(environ: Mapping[str, str]) -> Settings:
    """The settings in *environ*; raises BadSetting, naming the variable, where a value does not fit."""
    given = {
        name: environ[PREFIX + name.upper()] for name in Settings.__struct_fields__ if PREFIX + name.upper() in environ
    }
    try:
        chosen = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as exc:
        what, _, path = str(exc).partition(" - at `$.")
        raise BadSetting(f"{PREFIX}{path.rstrip('`').upper()}: {what}") from exc
    _check(chosen)
    return chosen


def _check(chosen: Settings) -> None:
    """Raise BadSetting for what no type can say."""
    for name in ("redis_ca_file", "redis_certificate_file", "redis_key_file", "api_keys_file"):
        path = getattr(chosen, name)
        if path and not pathlib.Path(path).is_file():
            raise BadSetting(f"{PREFIX}{name.upper()}: no such file")
    try:
        redis_address(chosen)
    except BadAddress as exc:
        raise BadSetting(f"{PREFIX}REDIS_URL: {exc}") from None
    if chosen.rate_limit_per_minute and not chosen.redis_url:
        raise BadSetting(f"{PREFIX}RATE_LIMIT_PER_MINUTE: it is counted in Redis, so {PREFIX}REDIS_URL must be set")
    if chosen.traces and importlib.util.find_spec("opentelemetry") is None:
        raise BadSetting(f"{PREFIX}TRACES: the extra `telemetry` is not installed")
    _check_lists(chosen)


def _check_lists(chosen: Settings) -> None:
    for name, text in _lists_of_keys(chosen):
        try:
            keys.parse(text)
        except keys.BadKeys as exc:
            raise BadSetting(f"{PREFIX}{name}: {exc}") from None
    if chosen.api_keys_file and not api_keys(chosen).entries:
        raise BadSetting(f"{PREFIX}API_KEYS_FILE: it has no entry")
    if not all(_ORIGIN.fullmatch(origin) for origin in cors_origins(chosen) - {"*"}):
        raise BadSetting(f"{PREFIX}CORS_ORIGINS: an origin is https://host or http://host:port, without a path")


def _lists_of_keys(chosen: Settings) -> list[tuple[str, str]]:
    path = chosen.api_keys_file
    listed = pathlib.Path(path).read_text(encoding="utf-8", errors="replace") if path else ""
    return [("API_KEYS", chosen.api_keys), ("API_KEYS_FILE", listed)]


def api_keys(chosen: Settings) -> keys.Keyring:
    """Whose keys are taken; nobody needs one where there are none. Raises BadKeys."""
    return keys.Keyring(tuple(entry for _, text in _lists_of_keys(chosen) for entry in keys.parse(text).entries))


def cors_origins(chosen: Settings) -> frozenset[str]:
    """The origins, each as browsers write it."""
    return frozenset(origin for item in chosen.cors_origins.split(",") if (origin := item.strip()))


def redis_address(chosen: Settings) -> Address | None:
    """Where Redis is, if anywhere. Raises BadAddress."""
    return parse(chosen.redis_url) if chosen.redis_url else None


def redis_tls(chosen: Settings) -> TlsFiles:
    """What to trust there, and how to show who we are."""
    return TlsFiles(
        authorities=chosen.redis_ca_file or None,
        certificate=chosen.redis_certificate_file or None,
        key=chosen.redis_key_file or None,
    )


def unknown(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none: misspelt, or of another release."""
    known = {PREFIX + name.upper() for name in Settings.__struct_fields__}
    return sorted(
        name
        for name, value in environ.items()
        if name.startswith(PREFIX)
        and name not in known
        and not _SERVICE_LINK.fullmatch(name)
        and not _LINKED_ADDRESS.match(value)
    )
