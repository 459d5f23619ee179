"""What a user should know about a placement whatever the engine."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

NVIDIA = "nvidia"
_NATIVE_FROM = {
    "fp8": (8, 9),
    "fp8_block": (8, 9),
    "nvfp4": (10, 0),
    "mxfp4": (10, 0),
}
"""Compute capability whose tensor cores multiply a format (CUDA C++ programming guide, arithmetic of tensor cores)."""


def advisories(job: ServingJob, engine: Any, placement: Placement, reservation: Reservation) -> tuple[Notice, ...]:
    """Formats without arithmetic of their own, slow links, requests that the engine cuts off, figures carried over."""
    found: list[Notice] = []
    device, kind = placement.device, str(engine.__struct_config__.tag)
    card = device.card or "—"
    native_from = _NATIVE_FROM.get(job.checkpoint.format)
    if native_from is not None and device.vendor in {None, NVIDIA} and _below(device.compute_capability, native_from):
        found.append(notice(NoticeCode.FORMAT_NOT_NATIVE, Severity.INFO, card=card, format=job.checkpoint.format))
    if placement.link is Link.PCIE and placement.layout.tensor > 1:
        found.append(notice(NoticeCode.NO_FAST_LINK, Severity.INFO, card=card, count=placement.layout.tensor))
    if job.context_tokens > reservation.longest_tokens and not reservation.notices:
        limit = reservation.longest_tokens
        found.append(
            notice(
                NoticeCode.CONTEXT_BEYOND_SLOT,
                Severity.CAUTION,
                context_tokens=job.context_tokens,
                limit_tokens=limit,
            )
        )
    most = reservation.most_requests * placement.layout.data * reservation.copies
    if job.concurrency > most > 0:
        found.append(
            notice(NoticeCode.REQUESTS_CAPPED, Severity.CAUTION, engine=kind, concurrency=job.concurrency, limit=most)
        )
    if device.vendor not in {None, NVIDIA} or reservation.activations.basis is Basis.EXTRAPOLATED:
        found.append(notice(NoticeCode.LITTLE_MEASURED, Severity.INFO, engine=kind, card=card))
    return tuple(found)


def _below(capability: str | None, native_from: tuple[int, int]) -> bool:
    if capability is None:
        return False
    major, _, minor = capability.partition(".")
    return (int(major), int(minor or 0)) < native_from
