"""API keys: who may ask, told by the SHA-256 of their keys, so that no setting and no file holds a key itself."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

import msgspec

_ENTRY = re.compile(r"([A-Za-z0-9._-]{1,64})=([0-9a-fA-F]{64})")
_LONGEST_KEY = 512
KEY_BYTES = 32


class BadKeys(Exception):  # noqa: N818 - it reads as a statement about the list
    """A list of keys that cannot be read."""


class Keyring(msgspec.Struct, frozen=True):
    """Names of those who have a key, each with the digest of theirs; one name may have several, while they change."""

    entries: tuple[tuple[str, bytes], ...] = ()

    def owner(self, key: bytes) -> str | None:
        """Whose *key* it is. Every digest is compared, each in constant time, so that time tells nothing."""
        given = hashlib.sha256(key[:_LONGEST_KEY]).digest()
        found = None
        for name, digest in self.entries:
            if hmac.compare_digest(given, digest):
                found = name
        return found if len(key) <= _LONGEST_KEY else None


def parse(text: str) -> Keyring:
    """The keys in *text*: `name=digest`, with commas or lines between, `#` before remarks. Raises BadKeys."""
    entries = []
    for line in text.splitlines():
        for item in line.partition("#")[0].split(","):
            if not (entry := item.strip()):
                continue
            found = _ENTRY.fullmatch(entry)
            if found is None:
                raise BadKeys("an entry is name=digest, the digest being the 64 hexadecimal digits of a SHA-256")
            entries.append((found[1], bytes.fromhex(found[2])))
    return Keyring(tuple(entries))


def new_key() -> tuple[str, str]:
    """A key that nobody guesses, and its digest."""
    key = secrets.token_urlsafe(KEY_BYTES)
    return key, hashlib.sha256(key.encode()).hexdigest()
