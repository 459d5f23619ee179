"""What is to be said of slices: those that are paid for and stay empty, and the smaller one that was too tight."""

from __future__ import annotations

import math

from cardmatch.engine.advice.candidates import devices
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.trying import Outcome, Trying, tried
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice


def slice_notes(shared: Trying, wanted: Wanted, choice: Choice) -> tuple[Notice, ...]:
    """The notices of *choice*; none where it takes whole cards."""
    form = choice.tried.form
    return () if form.mig is None else (*_unused(choice), *_tighter(shared, wanted, choice))


def _unused(choice: Choice) -> list[Notice]:
    """Slices of the cards that are rented beyond those that the copies take."""
    form, size, offer = choice.tried.form, choice.tried.size, choice.lot.offer
    if size is None or offer.mig_profile is not None:
        return []
    slices = choice.machines * offer.gpu_count * form.copies_per_gpu
    unused, profile = slices - size.copies, form.mig or ""
    if unused <= 0:
        return []
    return [notice(NoticeCode.UNUSED_SLICES, Severity.INFO, unused=unused, count=slices, profile=profile)]


def _tighter(shared: Trying, wanted: Wanted, choice: Choice) -> list[Notice]:
    """The largest slice that would take fewer cards, if it is left out for being tight."""
    form, size = choice.tried.form, choice.tried.size
    if size is None:
        return []
    cards = math.ceil(size.copies / form.copies_per_gpu)
    fewer = [each for each in devices(form.card, wanted) if each[1] and math.ceil(size.copies / each[2]) < cards]
    for device, profile, copies in sorted(fewer, key=lambda each: each[0].memory_bytes, reverse=True)[:1]:
        found = tried(shared, form._replace(device=device, mig=profile, copies_per_gpu=copies), choice.cache)
        if found.outcome is Outcome.TIGHT:
            missing = max(0, found.missing_bytes)
            return [notice(NoticeCode.SMALLER_SLICE_TIGHT, Severity.INFO, profile=profile or "", missing_bytes=missing)]
    return []
