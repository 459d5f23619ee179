"""How fast a model trains: operations per token over the share of the card's rate that a framework reaches.

A trained weight costs six operations a token (two forward, four backward), a frozen one four: gradients pass through
it, none is kept of it. Attention counts as if there were no causal mask (PaLM's convention, appendix B): its kernels
reach about half the rate of plain matrices. Recomputing activations repeats the forward pass. The share of the 16-bit
dense rate is a base times factors for framework, chip, precision, method and mixtures, per doubling of GPUs beyond a
machine of eight and of a chip's operations per byte of memory beyond an A100's, and per halving of the tokens that meet
a matrix below 16,384 and of its width below 4,096: of mixtures, an expert's. Tensor ranks add up partial sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.workload import Checkpointing, Method, Sharding
from cardmatch.engine.models.architecture import Architecture, Experts
from cardmatch.engine.models.checkpoint import has_experts
from cardmatch.engine.speed.band import SpeedBand, doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.kernels import Kernel, peak_flops
from cardmatch.engine.speed.pace import MOST_OF_A_RATE, UNKNOWN_FLOPS_PER_BYTE, product
from cardmatch.engine.speed.shape import attended, multiplied_parameters
from cardmatch.engine.speed.step import SIXTEEN_BITS, seen_flops

MACHINE_GPUS = 8
MANY_TOKENS = 16_384
"""Tokens in one forward pass of a GPU from which matrices are large enough for any card."""

WIDE = 4096
"""Width from which matrices fill a card."""

SELECTIVE_SHARE = 0.15
"""Part of the forward pass that selective checkpointing repeats: attention and what is cheap beside the matrices."""

BALANCED = 153.0
"""Dense 16-bit operations per byte of an A100: chips with more of them wait for memory, and for power, more often."""

SUMS_A_LAYER, SUMS_RECOMPUTED = 4, 2
"""Partial sums that tensor ranks exchange: two forward, two backward, two more where all is recomputed."""

_OVERLAPPING = frozenset({"megatron", "nemo"})
"""Frameworks that hide the sums of tensor ranks behind the arithmetic (Transformer Engine's user buffers)."""

_RECOMPUTED = {Checkpointing.NONE: 0.0, Checkpointing.SELECTIVE: SELECTIVE_SHARE, Checkpointing.FULL: 1.0}


ANY_FRAMEWORK = "training"
"""The group of all rows, by which a framework without rows is judged."""

EXCHANGE = "train/exchange"
"""The constant of links: the share of their rate that sums of tensor ranks reach."""

_GATHERED = frozenset({Sharding.FSDP, Sharding.ZERO3, Sharding.HSDP})


class Run(NamedTuple):
    """A training run as its speed depends on it; `tokens` are those of one forward pass of one GPU.

    `matrix_tokens` are those that meet one matrix, and `matrix_width` is its width: of a mixture, an expert's.
    `gathered_bytes` are the weights that sharded ranks fetch in both directions, and the gradients that they hand back;
    `summed_bytes` the gradients that copies add up once in `accumulation` passes. Either crosses the network where
    GPUs are in several `machines`, `network_bytes` a second of each; weights do only where `gathers_afar`.
    """

    framework: str
    method: Method
    precision: str
    kernels: str
    checkpointing: Checkpointing
    multiplied: float
    attention_flops: float
    hidden: int
    layers: int
    mixture: bool
    tokens: float
    matrix_tokens: float
    matrix_width: int
    gpus: int
    tensor: int = 1
    gathered_bytes: float = 0.0
    summed_bytes: float = 0.0
    accumulation: int = 1
    machines: int = 1
    network_bytes: float = math.inf
    gathers_afar: bool = True
    link: Link | None = None


class TrainingSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens a second, in all and on each GPU, and the share of the dense 16-bit rate that the work itself is (MFU)."""

    tokens_per_second: SpeedBand
    tokens_per_second_per_gpu: SpeedBand
    model_flops_utilisation: float


def run_of(
    job: TrainingJob, gpus: int, *, machines: int = 1, network_bytes: float = math.inf, link: Link | None = None
) -> Run:
    """The run of *job* on *gpus* in *machines* with *network_bytes* a second between them, joined by *link* inside."""
    framework = job.workload.framework
    precision = job.workload.precision
    made = run(
        job.architecture,
        framework=framework.value if framework else "transformers",
        method=job.workload.method,
        precision="fp8" if precision is not None and "fp8" in precision else "bf16",
        kernels=job.workload.kernels.value if job.workload.kernels else "",
        checkpointing=job.checkpointing,
        sequence_tokens=job.sequence_tokens,
        micro_batch=job.micro_batch,
        gpus=gpus,
    )
    if gpus == 1:
        return made
    sharding = job.workload.sharding or job.default_sharding
    passes = 3 if job.workload.method is Method.FULL else 2
    gathered = passes * float(sum(part.bytes for part in job.parts)) if sharding in _GATHERED else 0.0
    return made._replace(
        gathered_bytes=gathered,
        summed_bytes=0.0 if gathered and sharding is not Sharding.HSDP else trained_bytes(job),
        accumulation=job.accumulation,
        machines=machines,
        network_bytes=network_bytes,
        gathers_afar=sharding is not Sharding.HSDP,
        link=link,
    )


def trained_bytes(job: TrainingJob) -> float:
    """The gradients of all that is trained."""
    trained = job.adapters.parameters + job.adapters.saved_parameters
    return float(job.recipe.gradient * (sum([part.elements for part in job.parts]) if job.full else trained))


def run(
    model: Architecture,
    *,
    framework: str,
    method: Method,
    precision: str,
    checkpointing: Checkpointing,
    sequence_tokens: int,
    micro_batch: int,
    gpus: int,
    kernels: str = "",
    tensor: int = 1,
) -> Run:
    """A run of *model*; *precision* is bf16 or fp8, *kernels* eager, compiled, fused or not known."""
    tokens = float(sequence_tokens * micro_batch)
    routed = [block for group in model.layer_groups for block in group.blocks if isinstance(block, Experts)]
    return Run(
        framework,
        method,
        precision,
        kernels,
        checkpointing,
        multiplied_parameters(model),
        seen_flops(attended(model), sequence_tokens),
        model.hidden_size,
        len(model.layer_order),
        has_experts(model),
        tokens,
        min([tokens, *(tokens * block.experts_per_token / block.experts for block in routed)]),
        min([model.hidden_size, *(block.width for block in routed)]),
        gpus,
        tensor,
    )


def training_speed(asked: Run, chip: Chip, known: SpeedCalibration) -> TrainingSpeed:
    """The speed of *asked* on its GPUs, all of them *chip*."""
    rate = min(
        tokens_per_second_per_gpu(asked, chip, known.values),
        gathered_tokens_per_second(asked, chip, known.values),
        summed_tokens_per_second(asked, chip, known.values),
    )
    group = group_of(asked)
    seen = chip.card is not None and chip.card in known.seen.get(group, ())
    sure = doubt(known.spreads.get(group) or known.spreads.get(ANY_FRAMEWORK), seen=seen)
    return TrainingSpeed(
        tokens_per_second=sure.rate(rate * asked.gpus),
        tokens_per_second_per_gpu=sure.rate(rate),
        model_flops_utilisation=rate * model_flops(asked) / rate_of(chip),
    )


def gathered_tokens_per_second(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """What the links let through where every pass gathers the weights; it overlaps with the arithmetic."""
    if not asked.gathered_bytes:
        return math.inf
    sent = asked.gathered_bytes * (asked.gpus - 1) / asked.gpus
    rate = asked.tokens * _reached(asked, chip, known) / sent
    if asked.machines == 1 or not asked.gathers_afar:
        return rate
    afar = asked.gathered_bytes * (asked.machines - 1) / asked.machines
    return min(rate, asked.tokens * asked.network_bytes / afar)


def summed_tokens_per_second(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """What the links let through where copies add up their gradients at each step: rings, which send them twice."""
    if not asked.summed_bytes:
        return math.inf
    tokens = asked.tokens * asked.accumulation / (2 * asked.summed_bytes)
    near, rate = asked.gpus // asked.machines, math.inf
    if near > 1:
        rate = tokens * _reached(asked, chip, known) * near / (near - 1)
    if asked.machines > 1:
        rate = min(rate, tokens * asked.network_bytes * asked.machines / (asked.machines - 1))
    return rate


def _reached(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """Bytes a second that a GPU gets over what joins it to others of its machine."""
    link, rate = chip.link(min(asked.gpus // asked.machines, MACHINE_GPUS), asked.link)
    return rate * min(known.get(f"link/{link}", 1.0), MOST_OF_A_RATE)


def group_of(asked: Run) -> str:
    """The group of rows that predictions like *asked* are judged by."""
    return f"training {asked.framework}"


def model_flops(asked: Run) -> float:
    """Operations that the work itself takes per token, recomputation apart."""
    weights = 6.0 if asked.method is Method.FULL else 4.0
    return weights * asked.multiplied + 3.0 * asked.attention_flops


def executed_flops(asked: Run) -> float:
    """Operations that are executed per token."""
    forward = 2.0 * asked.multiplied + asked.attention_flops
    return model_flops(asked) + _RECOMPUTED[asked.checkpointing] * forward


def names(asked: Run, chip: Chip) -> tuple[str, ...]:
    """The constants that make up the share of the rate; the first is the base."""
    found = ["train", f"train/{asked.framework}", f"train/{chip.kind}"]
    found += [f"train/{asked.method.value}"] if asked.method is not Method.FULL else []
    found += [f"train/{asked.precision}"] if asked.precision != "bf16" else []
    found += [f"train/{asked.kernels}"] if asked.kernels else []
    found += ["train/mixture", f"train/{asked.framework}/mixture"] if asked.mixture else []
    return tuple(found)


def powers(asked: Run, chip: Chip) -> dict[str, float]:
    """Constants that count per doubling, and how many doublings there are."""
    beyond = {
        "train/doubling": asked.gpus / MACHINE_GPUS,
        "train/balance": rate_of(chip) / (chip.bandwidth_bytes * BALANCED),
        "train/halving": MANY_TOKENS / asked.matrix_tokens,
        "train/narrowing": WIDE / asked.matrix_width,
    }
    return {name: math.log2(times) for name, times in beyond.items() if times > 1}


def rate_of(chip: Chip) -> float:
    """Dense 16-bit operations per second, with FP32 accumulation."""
    peak = peak_flops(Kernel.SIXTEEN, chip.rates) or chip.bandwidth_bytes * UNKNOWN_FLOPS_PER_BYTE
    return peak * chip.share


def tokens_per_second_per_gpu(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """Tokens a second on each GPU, by *known* constants."""
    return 1 / (worked_seconds(asked, chip, known) + exchanged_seconds(asked, chip, known))


def worked_seconds(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """Seconds of arithmetic of one GPU for one token."""
    share = product(names(asked, chip), known)
    for name, doublings in powers(asked, chip).items():
        share *= known.get(name, 1.0) ** doublings
    most = MOST_OF_A_RATE * (2 if asked.precision == "fp8" else 1)
    return executed_flops(asked) / (rate_of(chip) * min(share, most))


def exchanged_seconds(asked: Run, chip: Chip, known: Mapping[str, float]) -> float:
    """Seconds of one GPU for one token in which tensor ranks add up: a ring, as in serving; 0 where nothing waits."""
    if asked.tensor == 1 or asked.framework in _OVERLAPPING:
        return 0.0
    sums = SUMS_A_LAYER + (SUMS_RECOMPUTED if asked.checkpointing is Checkpointing.FULL else 0)
    sent = 2 * (asked.tensor - 1) * asked.hidden * SIXTEEN_BITS * sums * asked.layers
    return sent / (chip.link(asked.tensor)[1] * min(known.get(EXCHANGE, 1.0), MOST_OF_A_RATE))
