"""What an engine really reaches of a chip: fitted shares of its data sheet's rates, and costs of kernels and steps.

A share is a base times factors for the engine, the memory and generation of the chip, the kernels, and mixtures of
experts. A factor that no row speaks to is 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.kernels import Kernel, native, peak_flops

MOST_OF_A_RATE = 0.98
"""No engine is let reach more of a data sheet's rate."""

UNKNOWN_FLOPS_PER_BYTE = 60.0
"""FP16 operations per byte of bandwidth of a card without published rates: the least of cards with tensor cores."""


class EngineKind(StrEnum):
    """Engines with constants of their own; llama.cpp's kin share its."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TENSORRT_LLM = "tensorrt_llm"
    LLAMA_CPP = "llama_cpp"
    OLLAMA = "ollama"
    TRANSFORMERS = "transformers"
    EXLLAMA = "exllama"


class Pace(NamedTuple):
    """Rates of one GPU in bytes and operations per second, and seconds that each kernel and step cost besides.

    `unpacked_bytes_per_second` bounds kernels that unpack weights lane by lane; infinite for others. `hop_seconds` and
    `hop_bytes` are the latency and the bytes per second of the link, in one direction.
    """

    bytes_per_second: float
    unpacked_bytes_per_second: float
    cache_bytes_per_second: float
    flops_per_second: float
    launch_seconds: float
    step_seconds: float
    request_seconds: float
    link: str
    hop_seconds: float
    hop_bytes: float


SWITCHED_LINK = "nvlink"
"""Sums are exchanged in one hop over it; over any other link they go round a ring."""

SERIAL = frozenset({EngineKind.LLAMA_CPP, EngineKind.OLLAMA, EngineKind.TRANSFORMERS, EngineKind.EXLLAMA})
"""Engines that are measured with one stream, not under load."""

_LANE_BY_LANE = frozenset({Kernel.GGML, Kernel.SIXTEEN})
"""Products of a matrix and one vector, which serial engines multiply outside the tensor cores."""

_UNPACKING = frozenset({Kernel.GGML, Kernel.WEIGHT_ONLY})

WARP_GROUPS = frozenset({"hbm-hopper", "hbm-blackwell"})
"""Chips whose tensor cores reach their rate only with instructions of four warps; kernels that unpack use one's."""

NO_BYTE_PRODUCTS = frozenset({"hbm-pascal"})
"""Chips without an instruction for the dot product of four bytes (P100)."""


def unpacks(engine: EngineKind, kernel: Kernel) -> bool:
    """Whether weights pass through the lanes of multiprocessors, whose cycles then bound how fast they are read."""
    return kernel is Kernel.WEIGHT_ONLY or (engine in SERIAL and kernel in _LANE_BY_LANE)


@functools.lru_cache(maxsize=1024)
def names(engine: EngineKind, kind: str, kernel: Kernel, link: str, *, mixture: bool) -> dict[str, tuple[str, ...]]:
    """The constants that make up each quantity, by name; the first is the base."""
    use = "serial" if engine in SERIAL else "served"
    memory = kind.split("-", maxsplit=1)[0]

    def mixed(quantity: str) -> tuple[str, ...]:
        return (f"{quantity}/{use}/mixture", f"{quantity}/{engine}/mixture") if mixture else ()

    one_warp = ("compute/one_warp",) if kernel in _UNPACKING and kind in WARP_GROUPS else ()
    found = {
        "bandwidth": (
            "bandwidth",
            f"bandwidth/{use}/{memory}",
            f"bandwidth/{use}/{kind}",
            f"bandwidth/{use}/{kernel}",
            *mixed("bandwidth"),
        ),
        "cache": ("cache", f"cache/{use}"),
        "compute": ("compute", f"compute/{use}/{kernel}", *one_warp, *mixed("compute")),
        "launch": ("launch", f"launch/{engine}", *mixed("launch")),
        "step": ("step",),
        "request": ("request",) if engine in SERIAL else ("request", f"request/{engine}"),
        "hop": (f"hop/{link}",),
        "link": (f"link/{link}",),
    }
    if unpacks(engine, kernel):
        bytewise = ("unpack/bytewise",) if kernel is Kernel.GGML and kind in NO_BYTE_PRODUCTS else ()
        found["unpack"] = ("unpack", f"unpack/{kernel}", *bytewise)
    return found


UNMEASURED = {"launch/transformers": 8.0}
"""Rules of thumb where no row speaks. Transformers launches every operation from Python: some 0.35 ms a layer."""


def pace_of(
    engine: EngineKind,
    chip: Chip,
    kernel: Kernel,
    known: Mapping[str, float],
    *,
    mixture: bool,
    ranks: int = 1,
    asked: Link | None = None,
) -> Pace:
    """What *engine* reaches of *chip* with *kernel*, where *ranks* GPUs exchange activations."""
    link, rate = chip.link(ranks, asked)
    kernel = native(kernel, chip.rates)
    made = names(engine, chip.kind, kernel, link, mixture=mixture)
    return reached(chip, kernel, link, rate, {name: product(parts, known) for name, parts in made.items()})


def reached(chip: Chip, kernel: Kernel, link: str, link_bytes: float, found: Mapping[str, float]) -> Pace:
    """The pace of *chip* with its quantities *found*; launches are counted in cycles of its clock."""
    flops = peak_flops(kernel, chip.rates) or chip.bandwidth_bytes * UNKNOWN_FLOPS_PER_BYTE
    read = chip.bandwidth_bytes * min(found["bandwidth"], MOST_OF_A_RATE)
    return Pace(
        bytes_per_second=read,
        unpacked_bytes_per_second=chip.cycles * found["unpack"] if "unpack" in found else math.inf,
        cache_bytes_per_second=min(read * found["cache"], chip.bandwidth_bytes * MOST_OF_A_RATE),
        flops_per_second=flops * chip.share * min(found["compute"], MOST_OF_A_RATE),
        launch_seconds=found["launch"] / chip.hertz,
        step_seconds=found["step"],
        request_seconds=found["request"],
        link=link,
        hop_seconds=found["hop"],
        hop_bytes=link_bytes * min(found["link"], MOST_OF_A_RATE),
    )


def product(parts: tuple[str, ...], known: Mapping[str, float]) -> float:
    """A base times its factors; what is not known is 1."""
    value = 1.0
    for name in parts:
        value *= known.get(name, 1.0)
        if name in UNMEASURED and name not in known:
            value *= UNMEASURED[name]
    return value
