"""What a publisher found in Redis, and what may come between it and its publish."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.shared.address import Address, TlsFiles


class Unreachable(OSError):  # noqa: N818 - what Redis is
    """Redis did not do what it was asked for; the message says why, without passwords."""


class Overtaken(Exception):  # noqa: N818 - what happened to the publisher
    """Somebody else published in the meantime; nothing was overwritten."""


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """Which Redis, and what our keys in it begin with."""

    address: Address
    tls: TlsFiles
    namespace: str


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What Redis named at the time, to be published over. `raw` is None where it was unusable, as `problem` says."""

    raw: bytes | None
    version: str | None = None
    earlier: tuple[str, ...] = ()
    problem: str | None = None
