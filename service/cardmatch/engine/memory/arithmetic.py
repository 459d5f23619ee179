"""What the arithmetic of a GPU rules out or slows down."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.placement import Device
from cardmatch.engine.memory.supported import capability_of
from cardmatch.engine.memory.training.recipes import Precision
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

FLASH_FROM = (8, 0)
"""FlashAttention-2 runs on Ampere and later (README of Dao-AILab/flash-attention)."""
_NATIVE_FROM = {
    Precision.BF16: (8, 0),
    Precision.MIXED_BF16: (8, 0),
    Precision.BF16_FP32_MASTER: (8, 0),
    Precision.MIXED_FP8: (8, 9),
    Precision.MIXED_NVFP4: (10, 0),
}
"""Compute capability whose tensor cores multiply a format (CUDA C++ programming guide, arithmetic of tensor cores)."""

_NAMES = (("FP8", (8, 9)), ("BF16", (8, 0)))


def below(device: Device, capability: tuple[int, int]) -> bool:
    """Whether *device* is known to be of less than *capability*."""
    own = capability_of(device)
    return own is not None and own < capability


def unsuited(device: Device, precision: Precision) -> list[Notice]:
    """A notice where the card emulates the arithmetic of *precision*."""
    since = _NATIVE_FROM.get(precision)
    if since is None or not below(device, since):
        return []
    card = device.card or "—"
    found = notice(NoticeCode.PRECISION_NOT_NATIVE, Severity.CAUTION, card=card, precision=precision.value)
    return [msgspec.structs.replace(found, params={**found.params, "instead": _instead(device, since)})]


def _instead(device: Device, since: tuple[int, int]) -> list[str]:
    """Narrower formats than those that need *since* that *device* has, else what every card has."""
    has = [name for name, first in _NAMES if first < since and not below(device, first)]
    return has or ["FP16", "FP32"]
