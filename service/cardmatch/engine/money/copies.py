"""How an option runs its model: so many copies, and how each lies on the GPUs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout, Ranks


class Copies(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Copies of the model, each on `tensor × pipeline` GPUs or on a slice of one, as /recommend lays them out.

    Where the model is trained, the run takes all GPUs of the option, and only `nodes` and `link` count.
    """

    copies: Annotated[int, Meta(ge=1, le=10**6, description="All machines together.")] = 1
    tensor: Annotated[Ranks, Meta(description="Each matrix is split over this many GPUs.")] = 1
    pipeline: Annotated[Ranks, Meta(description="The layers are split over this many stages.")] = 1
    nodes: Annotated[int, Meta(ge=1, le=64, description="Machines that one copy, or the training, spans.")] = 1
    mig: (
        Annotated[str, Meta(min_length=1, max_length=16, description="The slice of a card that holds a copy.")] | None
    ) = None
    link: Annotated[Link | None, Meta(description="What joins the GPUs; null: as the offer or the card has it.")] = None

    @property
    def layout(self) -> Layout:
        """Of one copy."""
        return Layout(tensor=self.tensor, pipeline=self.pipeline)
