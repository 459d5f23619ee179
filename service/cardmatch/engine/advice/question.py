"""What a request asks of the search: a load or a job, conditions, what may be changed, and what counts as best."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.inference import Concurrency
from cardmatch.engine.models.formats import WeightFormat
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.money.amounts import CountryCode, Note, ProviderId
from cardmatch.engine.money.country import CountrySelector
from cardmatch.engine.money.provider import Billing, IdentityCheck, PaymentMethod
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.terms.units import Tokens

CardText = Annotated[str, Meta(min_length=1, max_length=80, examples=["rtx-4090"])]
Cards = Annotated[tuple[CardText, ...], Meta(max_length=64)]
Providers = Annotated[tuple[ProviderId, ...], Meta(max_length=64)]
Countries = Annotated[tuple[CountrySelector, ...], Meta(max_length=64)]
Limit = Annotated[float, Meta(ge=1e-6, le=10**9, description="US dollars.")]
Latency = Annotated[float, Meta(ge=1e-4, le=86_400, description="Seconds.")]
MostGpus = Annotated[int, Meta(ge=1, le=4096)]


class Load(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests that keep coming: how long they are, how many, and how fast they must be answered.

    One rate, or `concurrency`, says how many; a job's requests need only their lengths. Language models have both
    lengths, a chat turn's where they are left out; of an encoder `prompt_tokens` is the mean text; pictures have none.
    A request for pictures is one of them. `peak_factor` is the busiest time over the mean.
    """

    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    output_tokens_p95: Tokens | None = None
    requests_per_second: Annotated[float, Meta(ge=1e-6, le=10**6)] | None = None
    requests_per_hour: Annotated[float, Meta(ge=0.001, le=10**10)] | None = None
    requests_per_day: Annotated[float, Meta(ge=0.01, le=10**11)] | None = None
    images_per_second: Annotated[float, Meta(ge=1e-6, le=10**6, description="Pictures or videos.")] | None = None
    images_per_hour: Annotated[float, Meta(ge=0.001, le=10**10, description="Pictures or videos.")] | None = None
    items_per_second: Annotated[float, Meta(ge=1e-6, le=10**6, description="Texts, pairs, recordings.")] | None = None
    items_per_hour: Annotated[float, Meta(ge=0.001, le=10**10, description="Texts, pairs, recordings.")] | None = None
    concurrency: Concurrency | None = None
    peak_factor: Annotated[float, Meta(ge=1, le=1000)] | None = None
    p95_latency_seconds: Latency | None = None
    ttft_seconds: Latency | None = None
    min_tokens_per_second_per_user: Annotated[float, Meta(ge=1e-3, le=10**5)] | None = None


class JobName(StrEnum):
    """A kind of job, as the buyers' guides divide them."""

    SERVING = "serving"
    SMALL_FINE_TUNE = "small_fine_tune"
    FULL_FINE_TUNE = "full_fine_tune"
    LARGE_TRAINING = "large_training"
    HIGH_THROUGHPUT_API = "high_throughput_api"
    BATCH = "batch"


class Scenario(StrEnum):
    """A situation that the buyers' guides describe."""

    WEEKLY_FINE_TUNES = "weekly_fine_tunes"
    CONCURRENT_SERVING = "concurrent_serving"
    TRAINING_DEADLINE = "training_deadline"


class JobOfWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work that ends: tokens or examples to train on, images (or videos) to make, or items to go through.

    An item is a request to a language model, and a text, a pair or a recording for an encoder. `preset` names a
    job of the buyers' guides and fills in what the request leaves out, its load included.
    """

    preset: JobName | None = None
    train_tokens: Annotated[float, Meta(ge=1, le=10**16)] | None = None
    examples: Annotated[int, Meta(ge=1, le=10**11)] | None = None
    mean_tokens_per_example: Tokens | None = None
    epochs: Annotated[float, Meta(ge=1e-6, le=10_000)] | None = None
    images: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    items: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    deadline_hours: Annotated[float, Meta(ge=1e-6, le=10**6, description="Hours.")] | None = None


class Isolation(StrEnum):
    """A GPU of one's own, or a MIG partition of one."""

    DEDICATED = "dedicated"
    MIG = "mig"


class WantedLink(StrEnum):
    """What must join several GPUs of one copy."""

    NVLINK = "nvlink"


class Constraints(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that every option meets. Values of one condition are alternatives; a fact that is null meets none."""

    max_usd_per_hour: Limit | None = None
    max_usd_per_month: Limit | None = None
    max_usd_total: Limit | None = None
    max_gpus: MostGpus | None = None
    max_instances: MostGpus | None = None
    cards: Cards = ()
    exclude_cards: Cards = ()
    providers: Providers = ()
    exclude_providers: Providers = ()
    server_countries: Countries = ()
    exclude_server_countries: Countries = ()
    company_countries: Countries = ()
    exclude_company_countries: Countries = ()
    identity_check: IdentityCheck | None = None
    billing: Billing | None = None
    payment_methods: Annotated[tuple[PaymentMethod, ...], Meta(max_length=20)] = ()
    unmetered_bandwidth: bool = False
    ecc: bool | None = None
    link: WantedLink | None = None
    isolation: Isolation | None = None
    max_price_age_days: Annotated[int, Meta(ge=0, le=36_500)] | None = None


class Allow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the search may choose by itself. Null formats: all that the card and the engine support."""

    weights: Annotated[tuple[WeightFormat, ...], Meta(min_length=1, max_length=16)] | None = None
    kv_cache: Annotated[tuple[KvFormat, ...], Meta(min_length=1, max_length=16)] | None = None
    multi_gpu: bool = True
    mig: bool = True
    offload: bool = False
    spot: bool = False


class Objective(StrEnum):
    """What counts as best."""

    COST_PER_UNIT = "cost_per_unit"
    COST_PER_HOUR = "cost_per_hour"
    COST_PER_MONTH = "cost_per_month"
    LATENCY = "latency"
    THROUGHPUT = "throughput"


class Profile(StrEnum):
    """Who asks, as the buyers' guides divide their readers; fills in what the request leaves out."""

    SOLO_DEVELOPER = "solo_developer"
    STARTUP = "startup"
    RESEARCHER = "researcher"
    PLATFORM_TEAM = "platform_team"


class OffersMode(StrEnum):
    """The caller's offers beside those of the catalogue, or alone."""

    MERGE = "merge"
    ONLY = "only"


class OwnOffer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine that the caller has or could rent: `count` GPUs a machine, `stock` machines of them."""

    sku: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,79}$(?!\n)", examples=["rack-3/3090"])]
    card: CardText
    count: Annotated[int, Meta(ge=1, le=1024)] = 1
    mig_profile: Annotated[str, Meta(min_length=1, max_length=16)] | None = None
    usd_per_hour: Annotated[float, Meta(ge=1e-6, le=10**6, description="Per hour of one machine.")]
    stock: Annotated[int, Meta(ge=0, le=10**6)] | None = None
    country: CountryCode | None = None
    url: Note | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything of a request but its model and workload; cards by their ids.

    `spot` says how often interruptible machines stop and what that takes: nobody publishes it, so without it a bill of
    such a machine counts no interruption.
    """

    load: Load | None = None
    job: JobOfWork | None = None
    constraints: Constraints = Constraints()
    allow: Allow = Allow()
    objective: Objective | None = None
    profile: Profile | None = None
    scenario: Scenario | None = None
    spot: Spot | None = None
    instances: Annotated[int, Meta(ge=1, le=10_000, description="Tenants, each with a server of its own.")] = 1
    nodes: Annotated[int, Meta(ge=1, le=64, description="Most machines that one copy may span.")] = 1
    offers: Annotated[tuple[OwnOffer, ...], Meta(max_length=1000)] = ()
    offers_mode: OffersMode = OffersMode.MERGE
    limit: Annotated[int, Meta(ge=1, le=50, description="Most options to return.")] = 5
