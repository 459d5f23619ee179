"""What every answer says of the catalogue that it was made from."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.catalogue.world import World
from cardmatch.engine.money.amounts import Day

CatalogueVersion = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{8,64}$(?!\n)",
        description="Version of the catalogue to answer from, or its first digits; GET /catalogue lists those kept.",
    ),
]


class CatalogueFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that the answer was made from."""

    version: Annotated[str, Meta(description="SHA-256 of the snapshot; `catalogue_version` pins it.")]
    as_of: Day


def catalogue_facts(world: World) -> CatalogueFacts:
    """The facts of *world*."""
    return CatalogueFacts(version=world.version, as_of=world.as_of)
