"""One option made ready to reckon: prices looked up, machines counted, gaps filled, defaults noted."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping

import msgspec

from cardmatch.engine.money.charges import EGRESS_WHERE_UNKNOWN, STORAGE_WHERE_UNKNOWN, Terms, month_hours, terms_of
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.option import Option
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.owning import owned_hour
from cardmatch.engine.money.plan import Plan
from cardmatch.engine.money.planning import Assumed, Known, Machines, plan_of
from cardmatch.engine.money.price import CallerPrice, OfferPrice, PurchasePrice
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.money.purchase import OwnedHour
from cardmatch.engine.money.question import CostQuestion, SweepParameter
from cardmatch.engine.money.quote import Quote, caller_quote, offer_quote
from cardmatch.engine.money.rating import Predictor, Rating, rate
from cardmatch.engine.money.work import Job
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Notice, NoticeCode, Scalar, Severity, notice

HourlyPrice = CallerPrice | OfferPrice | PurchasePrice


class Market(msgspec.Struct, frozen=True, gc=False):
    """What options are looked up in, on which day, and who predicts speeds."""

    offers: Mapping[str, Offer]
    providers: Mapping[str, Provider]
    ownership: Mapping[str, Ownership]
    ownership_costs: OwnershipCosts
    priced_on: dt.date
    predict: Predictor | None


class Setting(msgspec.Struct, frozen=True, gc=False):
    """An option by the hour: its plan, and what the plan was made of."""

    option: Option
    card: str | None
    gpus: int
    unused_gpus: int
    quote: Quote
    terms: Terms
    rating: Rating
    plan: Plan
    owned: OwnedHour | None
    egress_unknown: bool
    assumed: tuple[tuple[str, Scalar], ...]
    notices: tuple[Notice, ...]


def set_up(question: CostQuestion, option: Option, price: HourlyPrice, market: Market) -> Setting:
    """*option* of *question*, at its *price*, ready to reckon. Raises Invalid with pointers into the option."""
    assumed: Assumed = []
    quote, terms, owned = _priced(option, price, question, market, assumed)
    card = _card(option, quote.offer)
    machines = _machines(option, quote)
    if option.count is None:
        assumed.append(("/count", machines.gpus))
    rating = rate(option, machines.gpus, question.work, market.predict)
    assumed.extend(rating.assumed)
    plan = plan_of(question, option, Known(quote, terms, machines, rating.used.throughput, owned), assumed)
    egress_unknown = terms.egress is None and moved(question, SweepParameter.OUT_GB) > 0 and owned is None
    return Setting(
        option=option,
        card=card,
        gpus=machines.gpus,
        unused_gpus=machines.unused,
        quote=quote,
        terms=terms,
        rating=rating,
        plan=plan,
        owned=owned,
        egress_unknown=egress_unknown,
        assumed=tuple(assumed),
        notices=(*quote.notices, *rating.notices, *_notices(question, machines, terms, egress_unknown=egress_unknown)),
    )


def _priced(
    option: Option, price: HourlyPrice, question: CostQuestion, market: Market, assumed: Assumed
) -> tuple[Quote, Terms, OwnedHour | None]:
    charges = option.charges
    try:
        if isinstance(price, PurchasePrice):
            return _bought(option, price, question, market, assumed)
        if isinstance(price, OfferPrice):
            offer = market.offers.get(price.offer)
            provider = market.providers.get(offer.provider) if offer else None
            quote = offer_quote(price, market.offers, market.priced_on, month_hours(charges, provider))
            terms = terms_of(charges, quote.offer, provider)
        else:
            quote, terms = caller_quote(price), terms_of(charges, None, None)
    except Invalid as invalid:
        raise invalid.under("/price") from None
    if not terms.increment_known:
        assumed.append(("/charges/billing_increment_seconds", terms.increment_seconds))
    return quote, terms, None


def _bought(
    option: Option, price: PurchasePrice, question: CostQuestion, market: Market, assumed: Assumed
) -> tuple[Quote, Terms, OwnedHour]:
    """The quote of a machine that is bought: its hour over the share of its life in which it is used."""
    ownership = market.ownership.get(option.card) if option.card else None
    owned, defaults = owned_hour(price, market.ownership_costs, ownership)
    assumed.extend((f"/price/{field}", value) for field, value in defaults)
    used = price.utilisation
    if used is None and isinstance(question.work, Job):
        assumed.append(("/price/utilisation", 1.0))
    # A service pays for every hour of the month anyway; only jobs share the machine with other work.
    share = used if used is not None and isinstance(question.work, Job) else 1.0
    quote = Quote(
        kind="purchase",
        usd_per_hour=owned.expected_usd * owned.gpus_per_machine / share,
        spot_usd_per_hour=None,
        gpus_per_instance=owned.gpus_per_machine,
        offer=None,
        age_days=None,
        down=1 - owned.low_usd / owned.expected_usd,
        up=owned.high_usd / owned.expected_usd - 1,
        basis=owned.basis,
        notices=(),
    )
    return quote, terms_of(option.charges, None, None), owned


def _card(option: Option, offer: Offer | None) -> str | None:
    if offer is None or option.card is None:
        return option.card if offer is None else offer.card
    possible = (offer.card,) if offer.card is not None else offer.card_candidates or ()
    if option.card not in possible:
        raise refusal(FaultCode.OFFER_OF_OTHER_CARD, "/card", name=offer.id, card=option.card, known=list(possible))
    return option.card


def _machines(option: Option, quote: Quote) -> Machines:
    """An instance is rented whole: as many as hold the GPUs that work, and what is left over."""
    count = option.count or quote.gpus_per_instance or 1
    each = quote.gpus_per_instance or count
    instances = math.ceil(count / each)
    return Machines(gpus=count, instances=instances, unused=instances * each - count)


def _notices(question: CostQuestion, machines: Machines, terms: Terms, *, egress_unknown: bool) -> list[Notice]:
    found = []
    if machines.unused:
        gpus = machines.gpus + machines.unused
        found.append(notice(NoticeCode.UNUSED_GPUS, Severity.INFO, unused=machines.unused, gpus=gpus))
    if egress_unknown:
        price, out = EGRESS_WHERE_UNKNOWN, moved(question, SweepParameter.OUT_GB)
        found.append(notice(NoticeCode.EGRESS_PRICE_UNKNOWN, Severity.CAUTION, data_gb=out, per_gb_usd=price))
    stored = moved(question, SweepParameter.STORED_GB)
    if stored and terms.storage_usd_per_gb_month is None:
        price = STORAGE_WHERE_UNKNOWN
        found.append(notice(NoticeCode.STORAGE_PRICE_UNKNOWN, Severity.CAUTION, data_gb=stored, per_gb_usd=price))
    return found


def moved(question: CostQuestion, parameter: SweepParameter) -> float:
    """GB out or stored, of the work or at the most of a sweep over them."""
    asked = question.data.out_gb if parameter is SweepParameter.OUT_GB else question.data.stored_gb
    if question.sweep is None or question.sweep.parameter is not parameter:
        return asked
    return max(asked, *question.sweep.values)
