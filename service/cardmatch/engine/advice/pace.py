"""What the search asks of the speed room: how fast one copy of the model serves or trains somewhere.

The calls are passed in, so that the search knows no formula of speed; without them it ranks by what an hour costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.terms.band import Basis


class Served(msgspec.Struct, frozen=True, gc=False):
    """One copy with *batch* requests at once, each that ends followed by the next. Ratios give a range of the rate.

    Shares are of the time of an output token: reading memory, and arithmetic; they overlap. Under arrivals the times
    are those that half of the requests stay below, and nineteen in twenty (`p95`; zero where nothing arrives).
    """

    batch: float
    ttft_seconds: float
    tpot_seconds: float
    requests_per_second: float
    low_ratio: float
    high_ratio: float
    basis: Basis
    memory_share: float = 0.0
    compute_share: float = 0.0
    ttft_p95_seconds: float = 0.0
    tpot_p95_seconds: float = 0.0
    request_p95_seconds: float = 0.0


class Sent(msgspec.Struct, frozen=True, gc=False):
    """What each GPU sends in a decode step, and the seconds of that over PCIe and NVLink (zero where it has none)."""

    step_bytes: float
    pcie_seconds: float
    nvlink_seconds: float


class Trained(msgspec.Struct, frozen=True, gc=False):
    """Training tokens per second of all GPUs together."""

    tokens_per_second: float
    low_ratio: float
    high_ratio: float
    basis: Basis


Curve = Callable[[float], Served]
"""Requests at once in one copy, to how fast it then serves; slower for each request and faster together as it grows."""

Waits = Callable[[float, int], Served | None]
"""Arrivals a second at one copy, and how many requests it holds, to what they wait; None where they are too many."""

ServingPace = Callable[[ServingJob, AnyEngine, Card, Placement, int, int], Curve | None]
"""Job, engine, card, placement of one copy, prompt and output tokens; None where nothing is known of the pair."""

WaitingPace = Callable[[ServingJob, AnyEngine, Card, Placement, int, int, float], Waits | None]
"""The same with the 95th percentile of output tokens, for requests that come at random."""

LinkPace = Callable[[ServingJob, AnyEngine, Card, Placement, int, int, float], Sent]
"""The same with the requests at once."""

TrainingPace = Callable[[TrainingJob, Card, Placement], Trained | None]


class Paces(msgspec.Struct, frozen=True):
    """The calls of the speed room; null where there is no model for a kind of work."""

    serving: ServingPace | None = None
    training: TrainingPace | None = None
    waiting: WaitingPace | None = None
    links: LinkPace | None = None


Rate = Annotated[float, Meta(ge=0, le=10**12)]
Seconds = Annotated[float, Meta(ge=0, le=10**9)]


class SpeedBand(msgspec.Struct, frozen=True, kw_only=True):
    """How fast an option is at the load that was asked for; rates are of all its GPUs together.

    The true rate lies between low and high nine times in ten.
    """

    unit: str
    low_units_per_second: Rate
    expected_units_per_second: Rate
    high_units_per_second: Rate
    ttft_seconds: Seconds | None
    tpot_seconds: Seconds | None
    request_seconds: Annotated[Seconds | None, Meta(description="From the request to its last token.")]
    request_p95_seconds: Annotated[
        Seconds | None, Meta(description="What nineteen in twenty stay below, where requests arrive at a rate.")
    ] = None
    capacity_units_per_second: Annotated[Rate, Meta(description="The most that meets the latency asked for.")]
    requests_at_once: Annotated[float, Meta(ge=0, le=10**9)] | None
    basis: Basis
