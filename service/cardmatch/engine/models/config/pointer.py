"""JSON pointers (RFC 6901) of keys as config files spell them."""

from __future__ import annotations

_LONGEST = 64


def escape(key: str) -> str:
    """*key* as a reference token: `~` and `/` escaped, hostile lengths cut."""
    return key[:_LONGEST].replace("~", "~0").replace("/", "~1")
