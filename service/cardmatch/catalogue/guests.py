"""Models that the catalogue does not hold and a hub does: what is known of one, and how an answer asks for it.

Answers do no input or output. One that needs a model which the catalogue lacks raises ModelWanted; whoever asked for
the answer fetches it, puts it among the guests of its World, and asks again.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


class ModelWanted(Exception):  # noqa: N818 - it asks, it does not complain
    """The answer needs the model *id*, which may be on the hub."""

    def __init__(self, id_: str) -> None:
        super().__init__(id_)
        self.id = id_


class Guest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model as a hub describes it: its files at one revision (the commit), and elements of each safetensors dtype."""

    id: Annotated[str, Meta(max_length=200)]
    revision: Annotated[str, Meta(pattern=r"^[0-9a-f]{7,64}$(?!\n)")]
    config: dict[str, Any]
    quantization: dict[str, Any] | None = None
    safetensors: Annotated[dict[str, Annotated[int, Meta(ge=0, le=10**15)]], Meta(max_length=32)] | None = None


def is_hub_id(name: str) -> bool:
    """Whether *name* is written as hubs write ids: `owner/name`, nothing that a path could be made of."""
    return _ID.fullmatch(name) is not None and ".." not in name and "--" not in name
