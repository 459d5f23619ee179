"""Version numbers of engines."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Version = Annotated[
    str, Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}([.a-z+-][0-9A-Za-z.+-]{0,24})?$(?!\n)", examples=["0.33.0"])
]


def version_of(text: str) -> tuple[int, int]:
    """Major and minor of a version such as 0.20.2rc1."""
    major, _, rest = text.partition(".")
    minor = ""
    for character in rest:
        if not character.isdigit():
            break
        minor += character
    return int(major), int(minor or 0)
