"""What is known of the constants of serving speed before any benchmark, and how firmly."""

from __future__ import annotations

from cardmatch.engine.speed.pace import SERIAL
from tools.calibrate.posterior import Prior

BASES = {
    "bandwidth": Prior(0.83, 0.05),
    "cache": Prior(1.0, 0.15),
    "compute": Prior(0.58, 0.05),
    "compute/one_warp": Prior(0.63, 0.1),
    "compute/serial/ggml": Prior(0.3, 0.3),
    "compute/serial/sixteen": Prior(1.0, 0.3),
    "hop/nvlink": Prior(9e-6, 0.1),
    "hop/pcie": Prior(6e-6, 0.1),
    "launch": Prior(4600.0, 0.05),
    "link/nvlink": Prior(0.5, 0.1),
    "link/pcie": Prior(0.45, 0.1),
    "request": Prior(5e-6, 0.1),
    "step": Prior(0.5e-3, 0.1),
    "unpack": Prior(7.0, 0.3),
    "unpack/bytewise": Prior(0.4, 0.3),
}
"""Shares of rates that kernels of any engine reach; NCCL's latencies of an exchange, and of a hop of a ring.

A launch takes 2.5 µs at 1.83 GHz: AIConfigurator reckons with 3 µs an operation, after fusing. Instructions of one warp
reach 63 % of Hopper's tensor cores (Luo et al. 2024, arXiv:2402.13499). A multiprocessor issues 128 lanes a cycle; some
18 of them for each byte of packed weights (addresses, shifts, masks, scales, sums) let it unpack 7 bytes. Without a dot
product of four bytes, products and sums of single ones take its place: about two fifths of that.
"""

ENGINE, SERVED_BANDWIDTH, USUAL, LOOSE, HOST = 0.08, 0.03, 0.1, 0.3, 1.0
"""Widths of factors. Servers launch from graphs and read with tuned kernels, on any card alike; what their hosts do for
each request differs most (Python or C++).
"""

_USES = ("served", "serial")


def prior(name: str) -> Prior:
    """The prior of the constant *name*: a base, or a factor of 1."""
    return BASES.get(name) or Prior(1.0, _width(name.split("/")))


def _width(parts: list[str]) -> float:
    quantity, whose, last = parts[0], parts[1], parts[-1]
    if quantity == "request":
        return HOST
    if last == "mixture":
        return LOOSE if whose in _USES or whose in SERIAL else USUAL
    if quantity == "launch":
        return LOOSE if whose in SERIAL else ENGINE
    return SERVED_BANDWIDTH if quantity == "bandwidth" and whose == "served" else USUAL
