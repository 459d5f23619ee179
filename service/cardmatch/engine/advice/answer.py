"""The figures of a recommendation: options best first, every card left out and why, and what might qualify."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.advice.pace import SpeedBand
from cardmatch.engine.hardware.card import CardId
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Change, PerGpu
from cardmatch.engine.memory.diffusion.answer import DiffusionPerGpu
from cardmatch.engine.memory.encode.answer import EncodePerGpu
from cardmatch.engine.memory.training.answer import TrainingPerGpu
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.amounts import Day
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.band import Dollars
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.money.provider import Bandwidth, Billing, IdentityCheck, PaymentMethod
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Assumption, Notice, Question, Scalar
from cardmatch.engine.terms.units import Bytes, Count, SignedBytes, TokenCount

Gpus = Annotated[int, Meta(ge=0, le=10**7)]


class OfferUsed(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest machine to be had that holds a copy, at the price that was reckoned with."""

    id: str
    provider: str
    instance_type: str
    gpu_count: Count
    usd_per_hour: Annotated[Dollars, Meta(description="Per machine.")]
    spot: bool
    price_kind: PriceKind
    as_of: Day
    source: str
    server_country: str | None
    company_country: str | None
    stock: Annotated[int, Meta(ge=0, le=10**6)] | None
    identity_check: Annotated[IdentityCheck, Meta(description="What the provider asks of a customer.")] = (
        IdentityCheck.UNKNOWN
    )
    billing: Annotated[Billing | None, Meta(description="Prepaid, afterwards, or either; null: not known.")] = None
    payment_methods: Annotated[
        tuple[PaymentMethod, ...] | None, Meta(description="What the provider takes; null: not known.")
    ] = None
    bandwidth: Annotated[Bandwidth | None, Meta(description="How traffic out is charged; null: not known.")] = None


class Requires(msgspec.Struct, frozen=True, kw_only=True):
    """What each machine of a copy must have; `kubernetes_resource` is what a pod asks for, and how many."""

    machines: Annotated[Count, Meta(description="That one copy spans; 1 also where several share one.")] = 1
    gpu: str
    gpus: Count
    compute_capability: str | None
    host_ram_bytes: Bytes
    disk_bytes: Annotated[Bytes, Meta(description="The checkpoint twice over: as it is pulled and as it lies.")]
    kubernetes_resource: dict[str, Count]


class RecommendedOption(msgspec.Struct, frozen=True, kw_only=True):
    """One way to meet the request. Memory figures are of the fullest GPU of one copy, costs of all machines."""

    id: str
    rank: Count
    card: CardId
    count: Annotated[Count, Meta(description="GPUs that work, all machines together.")]
    layout: Annotated[Layout, Meta(description="Of one copy.")]
    mig: str | None
    link: Link | None
    copies: Annotated[int, Meta(ge=1, le=10**7, description="Copies of the model, all machines together.")]
    instances_per_machine: Annotated[Count, Meta(description="Copies on one machine.")]
    machines: Annotated[int, Meta(ge=1, le=10**7)]
    unused_gpus: Gpus
    weights: str
    kv_cache: str | None
    verdict: Verdict
    bound_by: str
    per_gpu: Annotated[PerGpu | None, Meta(description="Of serving.")]
    training_per_gpu: TrainingPerGpu | None
    diffusion_per_gpu: DiffusionPerGpu | None = None
    encode_per_gpu: EncodePerGpu | None = None
    changes: Annotated[
        tuple[Change, ...], Meta(description="Of the workload: what makes a pipeline or an encoder fit or quick.")
    ] = ()
    budget_bytes: Bytes
    headroom_bytes: SignedBytes
    max_concurrency: Annotated[TokenCount | None, Meta(description="Requests of mean length that all copies hold.")]
    speed: SpeedBand | None
    offer: OfferUsed
    usd_per_hour: Dollars
    usd_per_month: Dollars
    usd_per_instance_per_month: Annotated[Dollars, Meta(description="Over the tenants of the request.")]
    cost: OptionCost | None
    cost_request: Annotated[CostQuestion | None, Meta(description="Ready to post to /cost.")]
    command: str
    requires: Requires
    reasons: tuple[Notice, ...]
    cautions: tuple[Notice, ...]


def memory_of(option: RecommendedOption) -> Band | None:
    """The memory of the fullest GPU of *option*."""
    parts = option.per_gpu or option.training_per_gpu or option.diffusion_per_gpu or option.encode_per_gpu
    return None if parts is None else parts.total


def spare_of(budget_bytes: int, memory: Band) -> tuple[float, float, float]:
    """What is left of a budget: low, expected, high. Nobody measures less than nothing: what does not fit waits."""
    used = (memory.high_bytes, memory.expected_bytes, memory.low_bytes)
    low, expected, high = (float(max(0, budget_bytes - each)) for each in used)
    return low, expected, high


def ratios_of(option: RecommendedOption) -> tuple[float, float] | None:
    """What the rate of *option* may be at least and at most, over what is expected of its GPUs, whatever comes."""
    rate = option.cost.rate if option.cost is not None else None
    if rate is None or not rate.throughput.expected_units_per_second:
        return None
    found = rate.throughput
    each = found.expected_units_per_second
    return found.low_units_per_second / each, found.high_units_per_second / each


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the request and the value to set it to; null takes it out."""

    pointer: Annotated[str, Meta(description="JSON Pointer into the request.")]
    value: Annotated[
        Scalar | list[str] | dict[str, Scalar] | None, Meta(description="As it goes there; null takes the field out.")
    ]


class NotChosen(msgspec.Struct, frozen=True, kw_only=True):
    """A card that is among no option: why, and the nearest change of the request that brings it back.

    All of `changes` together, the card asked for alone among them, make it an option; they are empty where nothing is
    known to. `change` is the first of them in short, or else what may help.
    """

    card: CardId
    reason: Notice
    change: Change | None
    changes: Annotated[tuple[Setting, ...], Meta(description="All that the card takes to be an option.")] = ()


class Possible(msgspec.Struct, frozen=True, kw_only=True):
    """An offer that might qualify if the facts that nobody published turned out right."""

    offer: str
    provider: str
    card: CardId | None
    card_candidates: tuple[CardId, ...] | None
    unknown: Annotated[tuple[str, ...], Meta(description="The facts that are not known.")]
    source: str


Figure = Annotated[float, Meta(ge=-1e18, le=1e18)]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A figure to measure, and what is predicted for it; null where nothing is."""

    metric: str
    unit: str
    low: Figure | None
    expected: Figure | None
    high: Figure | None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the plan: minutes, and the command to run."""

    minutes: Annotated[int, Meta(ge=1, le=30)]
    command: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """Half an hour on the first option, with the stack that will be deployed: what to run, measure and send back."""

    option: str
    steps: tuple[Step, ...]
    metrics: tuple[Metric, ...]
    report: Annotated[
        CostQuestion | None,
        Meta(description="Post to /cost with the tool's output as its text, or the measured rate as units_per_second."),
    ]


class Recommended(msgspec.Struct, frozen=True, kw_only=True):
    """The figures, before any words."""

    options: tuple[RecommendedOption, ...]
    not_chosen: tuple[NotChosen, ...]
    unpriced_matches: tuple[Possible, ...]
    unknown_matches: tuple[Possible, ...]
    nearest: Annotated[NotChosen | None, Meta(description="Where there is no option: what comes nearest.")]
    advice: tuple[Notice, ...]
    verification: Verification | None
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    considered: Annotated[int, Meta(ge=0, le=10**9, description="Forms of a copy that were tried.")]
