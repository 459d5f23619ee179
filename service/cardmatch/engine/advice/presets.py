"""What the search takes as given where a request does not say: data with sources, read by the catalogue."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.advice.question import Constraints, JobName, JobOfWork, Load, Profile, Scenario
from cardmatch.engine.hardware.card import CardId
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.money.amounts import Day

Source = Annotated[str, Meta(min_length=1, max_length=400)]
Compute = tuple[Annotated[int, Meta(ge=1, le=99)], Annotated[int, Meta(ge=0, le=9)]]
Share = Annotated[float, Meta(gt=0, le=1)]


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the file."""


class Interactive(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast a reader wants the words to come."""

    min_tokens_per_second_per_user: Annotated[float, Meta(gt=0, le=1000)]
    source: Source
    as_of: Day


class Lengths(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request of which no length was given."""

    prompt_tokens: Annotated[int, Meta(ge=1)]
    output_tokens: Annotated[int, Meta(ge=1)]
    source: Source
    as_of: Day


class PeakFactor(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The busiest time of a day over its mean."""

    factor: Annotated[float, Meta(ge=1)]
    source: Source
    as_of: Day


class BusyShare(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of its capacity that a server is planned for."""

    share: Share
    source: Source
    as_of: Day


class Splits(StrEnum):
    """How an engine spreads a model over several GPUs."""

    TENSOR = "tensor"
    LAYERS = "layers"


class EngineSupport(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cards that an engine runs on; `least_compute` is NVIDIA's compute capability.

    `spans_machines`: one copy may be served by several machines.
    """

    vendors: tuple[str, ...]
    least_compute: Compute
    splits: Splits
    spans_machines: bool = False
    source: Source
    as_of: Day


class Accuracy(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a weight format was measured to cost: percent of a benchmark's score, or of perplexity."""

    low_percent: Annotated[float, Meta(ge=0, le=100)]
    high_percent: Annotated[float, Meta(ge=0, le=100)]
    source: Source
    as_of: Day


class Formats(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weight formats to try, largest first, by family of engine; and the compute capability that multiplies each."""

    server: tuple[str, ...]
    gguf: tuple[str, ...]
    torch: tuple[str, ...]
    native_since: dict[str, Compute]
    source: Source
    as_of: Day


class MoveUp(StrEnum):
    """What tells a reader of the guides that a larger card is due."""

    MEMORY = "memory"
    LATENCY = "latency"
    TENANTS = "tenants"


class PresetBasis(StrEnum):
    """Where the numbers of a preset come from: somebody's published run or trace, or habit."""

    PUBLISHED = "published"
    RULE_OF_THUMB = "rule_of_thumb"


class Sets(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a request that a preset stands for."""

    workload: Inference | Training | None = None
    load: Load | None = None
    job: JobOfWork | None = None
    constraints: Constraints = Constraints()


class Preset(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reader, a job or a scenario of the guides: what it sets, and the cards that the guides point it to.

    `row` numbers the guides' table that speaks of it; `cards` is empty where they name none.
    """

    row: Annotated[int, Meta(ge=1, le=99)]
    sets: Sets
    cards: tuple[CardId, ...] = ()
    move_up: MoveUp | None = None
    basis: PresetBasis
    source: Source
    as_of: Day


class Failures(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often long runs on many GPUs were interrupted unexpectedly, and the share that memory caused."""

    interruptions_per_gpu_hour: Annotated[float, Meta(gt=0, le=1)]
    memory_share: Share
    source: Source
    as_of: Day


class Network(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What joins machines where no offer says: bytes a second in one direction, and the latency of a message."""

    gb_s: Annotated[float, Meta(gt=0, le=1000)]
    hop_seconds: Annotated[float, Meta(ge=0, le=1)]
    source: Source


class Presets(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    interactive: Interactive
    lengths: Lengths
    peak_factor_per_day: PeakFactor
    busy_share: BusyShare
    hours_per_month: Annotated[int, Meta(ge=672, le=744)]
    engines: dict[str, EngineSupport]
    accuracy: dict[str, Accuracy]
    formats: Formats
    profiles: dict[Profile, Preset]
    jobs: dict[JobName, Preset]
    scenarios: dict[Scenario, Preset]
    failures: Failures
    network: Network
