"""Why a card is among no option, and the nearest change of the request that brings it back."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.answer import NotChosen, Setting
from cardmatch.engine.advice.asking import Asking, Ways, constraint_settings
from cardmatch.engine.advice.choice import MOST_GPUS, Broken, Choice
from cardmatch.engine.advice.comeback import comeback, limits_lifted, posted, works
from cardmatch.engine.advice.fate import Fate, nearness
from cardmatch.engine.advice.market import Market, Rejected
from cardmatch.engine.advice.question import Objective, OffersMode, Wanted
from cardmatch.engine.advice.rank import beats
from cardmatch.engine.advice.trying import Outcome, Tried
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.money.offer import Offer, age_days
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.terms.notice import Notice, NoticeCode, Scalar, Severity, notice


class Judge(NamedTuple):
    """What the reasons speak of: the request, the market, and the best option, if any; *ways* find back from them."""

    wanted: Wanted
    market: Market
    providers: Mapping[str, Provider]
    engine: str
    best: Choice | None
    hours_per_month: int
    priced_on: dt.date
    ways: Ways | None = None
    workload: Inference | None = None
    options: tuple[Choice, ...] = ()
    objective: Objective | None = None


_INFO = Severity.INFO
_ON_OPTIONS = frozenset(
    {"max_usd_per_hour", "max_usd_per_month", "max_usd_total", "max_gpus", "max_instances", "stock"}
)
_NOT_COSTS = frozenset({Objective.LATENCY, Objective.THROUGHPUT})
FORMATS = frozenset({"bf16"})
"""Formats that a card may lack, as reasons to refuse it."""

_POINTERS = {
    "stock": "/offers",
    "deadline_hours": "/job/deadline_hours",
    "p95_latency_seconds": "/load/p95_latency_seconds",
}


def not_chosen(
    judge: Judge, fates: Mapping[str, Fate], shown: frozenset[str]
) -> list[tuple[tuple[int, float], NotChosen]]:
    """Every card of *fates* that is not *shown*, with how near it came, in the order of ids."""
    return [(nearness(fate), _row(judge, card, fate)) for card, fate in sorted(fates.items()) if card not in shown]


def _row(judge: Judge, card: str, fate: Fate) -> NotChosen:
    """The reason, and the changes that bring the card back."""
    row, ways = _why(judge, card, fate), judge.ways
    asking = Asking(judge.wanted, judge.workload)
    if works(fate):
        changes = constraint_settings({"cards": (card,)})
    elif fate.broken is not None and _all_known(judge, fate.broken):  # all that it breaks is known
        changes = limits_lifted(asking, fate.broken)
    else:
        changes = comeback(ways, asking, card, fate) if ways is not None else ()
    if not changes:
        return row
    return msgspec.structs.replace(row, change=_short(changes[0]), changes=posted(changes, card, judge.wanted))


def _all_known(judge: Judge, broken: Broken) -> bool:
    """Whether the card breaks nothing else: limits on options are looked at together, those of a deadline after it."""
    if broken.field in _ON_OPTIONS:
        return True
    asked = judge.wanted.constraints
    limited = any(getattr(asked, field, None) is not None for field in _ON_OPTIONS) or judge.wanted.offers
    job = judge.wanted.job
    units = ((job.images or job.items) if job else None) or math.inf
    few = units * judge.wanted.instances <= MOST_GPUS  # one at most for each GPU
    return judge.ways is None and broken.field == "deadline_hours" and few and not limited


def _short(setting: Setting) -> Change:
    """A setting as one word: of a list the last, of an object the last of its fields."""
    pointer, value = setting.pointer, setting.value
    if isinstance(value, dict):
        field, value = list(value.items())[-1]
        pointer = f"{pointer}/{field}"
    if isinstance(value, list):
        value = value[-1] if value else ""
    return Change(pointer=pointer, value="" if value is None else value)


def _why(judge: Judge, card: str, fate: Fate) -> NotChosen:
    if fate.refused is not None:
        return _refused(judge, card, fate.refused)
    if fate.best is not None or fate.bound is not None:
        return _dearer(judge, card, fate)
    if fate.broken is not None:
        return _over(card, fate.broken)
    if fate.tried is None:
        return NotChosen(card=card, reason=_nobody_sells(judge, card), change=None)
    return _unfit(judge, card, fate.tried)


def _refused(judge: Judge, card: str, why: str) -> NotChosen:
    if why == "engine":
        reason = notice(NoticeCode.ENGINE_NOT_ON_CARD, _INFO, engine=judge.engine, card=card)
        return NotChosen(card=card, reason=reason, change=None)
    if why == "precision":
        reason = notice(NoticeCode.TRAINS_WITHOUT_BF16, _INFO, card=card)
        return NotChosen(card=card, reason=reason, change=Change(pointer="/workload/precision", value="fp16"))
    if why == "offers":
        return _no_offer(judge, card)
    if why in FORMATS:
        reason = notice(NoticeCode.CARD_LACKS_FORMAT, _INFO, card=card, format=why)
        return NotChosen(card=card, reason=reason, change=Change(pointer="/workload/precision", value="fp16"))
    reason = notice(NoticeCode.CARD_FAILS_CONDITION, _INFO, card=card, field=why)
    value: Scalar = card if why in {"cards", "exclude_cards"} else False
    return NotChosen(card=card, reason=reason, change=Change(pointer=f"/constraints/{why}", value=value))


_PRICE = "usd_per_hour"


def _no_offer(judge: Judge, card: str) -> NotChosen:
    """Offers of which but the price is not known, or another fact; then those that fail a condition; else none."""
    rejected = judge.market.rejected.get(card, ())
    unknown = [each for each in judge.market.unknown if each.offer.card == card]
    unpriced = [each for each in judge.market.unpriced if each.offer.card == card]
    own = Change(pointer="/offers", value=card)
    if any(each.unknown == (_PRICE,) for each in unpriced):
        return NotChosen(card=card, reason=notice(NoticeCode.OFFERS_WITHOUT_PRICE, _INFO, card=card), change=own)
    if unknown or unpriced:
        field = next(name for name in (unknown or unpriced)[0].unknown if name != _PRICE)
        reason = notice(NoticeCode.OFFERS_LACK_FACT, _INFO, card=card, field=field)
        return NotChosen(card=card, reason=reason, change=Change(pointer=f"/constraints/{field}", value=""))
    if rejected:
        return _failing(judge, card, rejected)
    return NotChosen(card=card, reason=_nobody_sells(judge, card), change=own)


def _nobody_sells(judge: Judge, card: str) -> Notice:
    """The catalogue is not spoken of where the request leaves it out."""
    only = judge.wanted.offers_mode is OffersMode.ONLY
    code = NoticeCode.NO_OWN_OFFER_OF_CARD if only else NoticeCode.NO_OFFER_OF_CARD
    return notice(code, _INFO, card=card)


def _failing(judge: Judge, card: str, rejected: tuple[Rejected, ...]) -> NotChosen:
    """The condition that alone keeps most offers out, else the one that most fail."""
    counted = Counter(each.failed for each in rejected)
    failed = min(counted, key=lambda each: (len(each), -counted[each], each))
    field = failed[0]
    offer = next(each.offer for each in rejected if each.failed == failed)
    reason = notice(NoticeCode.OFFERS_FAIL_CONDITION, _INFO, card=card, field=field)
    change = Change(pointer=f"/constraints/{field}", value=_fact(judge, offer, field))
    return NotChosen(card=card, reason=reason, change=change)


def _fact(judge: Judge, offer: Offer, field: str) -> Scalar:
    """What the offer has instead of what was asked for; for an exclusion, what would have to be taken out."""
    provider = judge.providers.get(offer.provider)
    if field.endswith("providers"):
        return offer.provider
    if field.endswith("server_countries"):
        return offer.server_country or ""
    if provider is None:
        return ""
    known: dict[str, Scalar] = {
        "company_countries": provider.company_country or "",
        "exclude_company_countries": provider.company_country or "",
        "identity_check": provider.identity_check.value,
        "billing": provider.billing.value if provider.billing else "",
        "payment_methods": provider.payment_methods[0].value if provider.payment_methods else "",
        "unmetered_bandwidth": False,
        "max_price_age_days": age_days(offer, judge.priced_on),
    }
    return known.get(field, "")


def _dearer(judge: Judge, card: str, fate: Fate) -> NotChosen:
    """An option that the limit or a better one keeps out: by what a job comes to, where there is one, else an hour."""
    change = Change(pointer="/constraints/cards", value=card)
    total, first = fate.total, judge.best.total_usd if judge.best else None
    if total is not None and first is not None:
        if total <= first or judge.objective in _NOT_COSTS:
            return NotChosen(card=card, reason=_outranked(judge, card, fate), change=change)
        more = 100 * (total / first - 1) if first else 0.0
        said = notice(NoticeCode.CARD_JOB_COSTS_MORE, _INFO, card=card, least_usd=total, more_percent=more)
        return NotChosen(card=card, reason=said, change=change)
    least = fate.best.usd_per_hour if fate.best else fate.bound or 0.0
    best = judge.best.usd_per_hour if judge.best else least
    if least <= best or judge.objective in _NOT_COSTS:
        return NotChosen(card=card, reason=_outranked(judge, card, fate), change=change)
    reason = notice(
        NoticeCode.CARD_COSTS_MORE,
        _INFO,
        card=card,
        least_usd_per_month=least * judge.hours_per_month,
        more_percent=100 * (least / best - 1) if best else 0.0,
    )
    return NotChosen(card=card, reason=reason, change=change)


def _outranked(judge: Judge, card: str, fate: Fate) -> Notice:
    """Beaten only by an option that is as good on every count; else what counts as best puts others first.

    What is fastest on a card is not what is cheapest on it, which nothing shown need beat.
    """
    costs = judge.objective not in _NOT_COSTS
    if costs and fate.best is not None and any(beats(option.axes, fate.best.axes) for option in judge.options):
        return notice(NoticeCode.CARD_BEATEN, _INFO, card=card)
    objective = judge.objective or Objective.COST_PER_MONTH
    return notice(NoticeCode.CARD_RANKS_LOWER, _INFO, card=card, objective=objective.value)


def _over(card: str, broken: Broken) -> NotChosen:
    reason = notice(NoticeCode.OPTION_BREAKS_LIMIT, _INFO, card=card, field=broken.field, value=broken.value)
    pointer = _POINTERS.get(broken.field, f"/constraints/{broken.field}")
    change = Change(pointer=pointer, value=math.ceil(broken.value * 100) / 100)
    beyond = broken.field == "max_gpus" and broken.value > MOST_GPUS  # a limit of the house, which no request lifts
    return NotChosen(card=card, reason=reason, change=None if beyond else change)


def _unfit(judge: Judge, card: str, found: Tried) -> NotChosen:
    form = found.form
    if found.outcome is Outcome.TOO_SLOW:
        return NotChosen(card=card, reason=notice(NoticeCode.CARD_TOO_SLOW, _INFO, card=card), change=None)
    tight = found.outcome is Outcome.TIGHT
    code = NoticeCode.JOB_TIGHT_ON_CARD if tight else NoticeCode.JOB_DOES_NOT_FIT_CARD
    missing = max(0, found.missing_bytes)
    reason = notice(code, _INFO, card=card, gpus=form.gpus, missing_bytes=missing)
    if found.variant is not None:
        return NotChosen(card=card, reason=reason, change=found.variant.remedy)
    if not judge.wanted.allow.multi_gpu:
        return NotChosen(card=card, reason=reason, change=Change(pointer="/allow/multi_gpu", value=True))
    needed = form.gpus * (1 + missing / max(form.device.memory_bytes, 1))
    count = 2 ** math.ceil(math.log2(max(needed, form.gpus * 1.01)))
    own = [index for index, offer in enumerate(judge.wanted.offers) if offer.card == card]
    change = Change(pointer=f"/offers/{own[0]}/count", value=count) if own else None
    return NotChosen(card=card, reason=reason, change=change)
