"""What no single field of a question shows: names told apart, and fields that say nothing where they stand.

A field that would change no figure is refused rather than passed over: whoever sent it expects it to count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from cardmatch.engine.money.charges import Charges
from cardmatch.engine.money.currency import Currency
from cardmatch.engine.money.option import Option, Rent
from cardmatch.engine.money.price import CallerPrice, OfferPrice, PurchasePrice, TokenApiPrice
from cardmatch.engine.money.question import CostQuestion, SweepParameter
from cardmatch.engine.money.work import WORK, Service
from cardmatch.engine.terms.fault import FaultCode, refusal

DOLLAR = "USD"
_OF_MACHINES = ("card", "count", "throughput", "spot", "reserved", "startup")
_OF_TENANTS = ("spot", "reserved")
_NOTHING = Charges()
_CHARGES = tuple(name for name in Charges.__struct_fields__ if name != "tax_share")
_CHARGES_OF_TENANTS = (
    "keep_warm_usd_per_hour",
    "prepaid",
    "min_top_up_usd",
    "auto_stop_seconds",
)
_SWEPT_JOBS = frozenset({SweepParameter.IDLE_HOURS, SweepParameter.RUNS, SweepParameter.FAILED_SHARE})


def check(question: CostQuestion) -> None:
    """Raise Invalid at the first field that contradicts another, or that would be passed over."""
    seen = set()
    job = not isinstance(question.work, Service)
    for index, option in enumerate(question.options):
        if option.label in seen:
            raise refusal(FaultCode.LABEL_TWICE, f"/options/{index}/label", name=option.label)
        seen.add(option.label)
        price, charges = option.price, option.charges
        if isinstance(price, TokenApiPrice):
            _check_fields(option, index, _OF_MACHINES, _CHARGES)
        elif isinstance(price, PurchasePrice):
            _check_fields(option, index, _OF_TENANTS, _CHARGES_OF_TENANTS)
        if charges is not _NOTHING:
            _check_charges(charges, f"/options/{index}/charges", job=job)
    if isinstance(question.work, Service):
        _check_service(question, question.work)
    for where, currency in currencies(question):
        if currency.code == DOLLAR and currency.usd != 1:
            raise refusal(FaultCode.DOLLAR_IS_ONE, f"{where}/usd")


def currencies(question: CostQuestion) -> Iterator[tuple[str, Currency]]:
    """Every currency that *question* states a rate for, and where."""
    if question.currency is not None:
        yield "/currency", question.currency
    for index, option in enumerate(question.options):
        if isinstance(option.price, CallerPrice | OfferPrice) and option.price.currency is not None:
            yield f"/options/{index}/price/currency", option.price.currency


def _check_fields(option: Option, index: int, fields: tuple[str, ...], charges: tuple[str, ...]) -> None:
    """Fields of rented machines, on an option that rents none."""
    if option.rent is not Rent.ON_DEMAND:
        raise refusal(FaultCode.CONFLICTS_WITH, f"/options/{index}/rent", field="price")
    for name in fields:
        if getattr(option, name) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"/options/{index}/{name}", field="price")
    for name in charges:
        if getattr(option.charges, name) != getattr(_NOTHING, name):
            raise refusal(FaultCode.CONFLICTS_WITH, f"/options/{index}/charges/{name}", field="price")


def _check_service(question: CostQuestion, work: Service) -> None:
    if (work.utilisation is None) == (work.units_per_month is None):
        raise refusal(FaultCode.EXACTLY_ONE_OF, WORK, fields=["utilisation", "units_per_month"])
    if work.keep_warm and work.starts_per_month is not None:
        raise refusal(FaultCode.CONFLICTS_WITH, f"{WORK}/starts_per_month", field="keep_warm")
    for pointer, stated in (
        ("/runs", question.runs != 1),
        ("/failed_share", question.failed_share > 0),
        ("/time_value_usd_per_hour", question.time_value_usd_per_hour > 0),
        ("/data/stopped_hours", question.data.stopped_hours > 0),
        ("/purchase/utilisation", question.purchase is not None and question.purchase.utilisation is not None),
        *((f"/options/{index}/price/utilisation", _shared(option)) for index, option in enumerate(question.options)),
    ):
        if stated:
            raise refusal(FaultCode.ONLY_FOR_JOBS, pointer, field=pointer.rpartition("/")[2])
    if question.sweep is not None and question.sweep.parameter in _SWEPT_JOBS:
        raise refusal(FaultCode.ONLY_FOR_JOBS, "/sweep/parameter", field=question.sweep.parameter.value)


def _shared(option: Option) -> bool:
    """Whether it is a machine bought for more than this work; a service has it all month."""
    return isinstance(option.price, PurchasePrice) and option.price.utilisation is not None


def _check_charges(charges: Charges, where: str, *, job: bool) -> None:
    """Jobs keep nothing warm; tiers of traffic follow one another, and only the last has no end."""
    if job and charges.keep_warm_usd_per_hour is not None:
        field = "keep_warm_usd_per_hour"
        raise refusal(FaultCode.ONLY_FOR_SERVICES, f"{where}/{field}", field=field)
    tiers = charges.egress_tiers
    if tiers is None:
        return
    if charges.egress_usd_per_gb is not None:
        raise refusal(FaultCode.AT_MOST_ONE_OF, where, fields=["egress_usd_per_gb", "egress_tiers"])
    before = 0.0
    for position, tier in enumerate(tiers):
        end = math.inf if tier.up_to_gb is None else tier.up_to_gb
        if end <= before:
            raise refusal(FaultCode.NOT_ABOVE, f"{where}/egress_tiers/{position}/up_to_gb", limit=before)
        if end == math.inf and position < len(tiers) - 1:
            raise refusal(FaultCode.TIER_WITHOUT_END, f"{where}/egress_tiers/{position}/up_to_gb")
        before = end
