"""How a model is spread over GPUs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Ranks = Annotated[int, Meta(ge=1, le=1024)]


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ranks per kind of parallelism; `tensor × pipeline × data` GPUs in all.

    Expert parallelism spreads the experts over `expert` of those GPUs, decode-context parallelism spreads each
    request's cache over `decode_context` of the tensor ranks: neither takes GPUs of its own.
    """

    tensor: Annotated[Ranks, Meta(description="Each matrix is split over this many GPUs.")] = 1
    pipeline: Annotated[Ranks, Meta(description="The layers are split over this many stages.")] = 1
    data: Annotated[Ranks, Meta(description="Copies of the model that serve different requests.")] = 1
    expert: Annotated[Ranks, Meta(description="Experts are spread over this many of the GPUs.")] = 1
    decode_context: Annotated[
        Ranks, Meta(description="Each request's cache is spread over this many tensor ranks.")
    ] = 1

    @property
    def gpus(self) -> int:
        """GPUs that the layout takes."""
        return self.tensor * self.pipeline * self.data


SINGLE = Layout()
