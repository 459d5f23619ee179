"""Prices of offers: how old they are, whether they hold, and in which currency."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import defaultdict
from typing import Any

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.money.quote import DRIFT_PER_QUARTER, FRESH_DAYS, MARKET_SPREAD
from tests.engine.money.asking import TODAY, ask, job, offer, only, option, refused

BOX = "acme/box/any/standard"


def _body(**price: Any) -> dict[str, Any]:
    return {"options": [option(price={"kind": "offer", "offer": BOX} | price, charges={})], "work": job()}


def _costed(**fields: Any) -> OptionCost:
    return only(ask(_body(), offers=(offer(**fields),)))


def _read(days_ago: int) -> str:
    return (TODAY - dt.timedelta(days=days_ago)).isoformat()


def test_a_fresh_list_price_counts_as_it_is() -> None:
    """Within thirty days there is no band and no notice."""
    costed = _costed(as_of=_read(FRESH_DAYS))
    assert (costed.total.low_usd, costed.total.high_usd) == (32, 32)
    assert costed.notices == ()


def test_an_old_price_is_said_and_widens_the_band() -> None:
    """A quarter old: 30 % up or 23 % down; the older, the wider; never silently."""
    quarter, year = _costed(as_of=_read(91)), _costed(as_of=_read(365))
    assert quarter.total.high_usd == pytest.approx(32 * math.exp(0.26), rel=2e-3)
    assert quarter.total.low_usd == pytest.approx(32 * math.exp(-0.26), rel=2e-3)
    assert [notice.code.value for notice in quarter.notices] == ["prices_old"]
    assert quarter.notices[0].params == {"age_days": 91}
    assert year.total.high_usd > quarter.total.high_usd
    assert year.notices[0].severity.value == "warning"
    assert quarter.total.basis.value == "extrapolated"


def test_the_drift_covers_the_steps_that_list_prices_took() -> None:
    """Read in 2026: RunPod H100 3.29 → 3.99, Nebius H100 3.85 → 4.50 and B200 7.15 → 8.50, DigitalOcean 1.99 → 2.59."""
    steps = [math.log(3.99 / 3.29), math.log(4.50 / 3.85), math.log(8.50 / 7.15), math.log(2.59 / 1.99)]
    assert max(steps) == pytest.approx(DRIFT_PER_QUARTER, abs=0.01)


def test_a_price_of_unknown_day_is_taken_for_old() -> None:
    """Where only the last possible day is known, the price may be a year older."""
    costed = _costed(as_of_kind="estimated", as_of_range=[None, TODAY.isoformat()])
    assert [notice.code.value for notice in costed.notices] == ["price_undated"]
    assert costed.total.high_usd == pytest.approx(32 * math.exp(0.26 * math.sqrt(365 / 91.25)), rel=1e-3)


@pytest.mark.parametrize("kind", ["market_low", "floor"])
def test_the_bottom_of_a_market_may_not_be_had(kind: str) -> None:
    """It is said, and the band reaches up to where the middle of markets lies."""
    costed = _costed(price_kind=kind)
    assert [notice.code.value for notice in costed.notices] == ["price_may_not_be_available"]
    assert costed.total.high_usd == pytest.approx(32 * 1.47)
    assert costed.total.low_usd == 32


def test_the_market_spread_is_that_of_the_catalogue() -> None:
    """The 90th percentile of median over lowest price per GPU of the same card."""
    middle: defaultdict[str, list[float]] = defaultdict(list)
    bottom: defaultdict[str, list[float]] = defaultdict(list)
    kinds = {PriceKind.MARKET_MEDIAN: middle, PriceKind.MARKET_LOW: bottom, PriceKind.FLOOR: bottom}
    for row in bundled().offers.values():
        if row.usd_per_hour is not None and row.card is not None and row.price_kind in kinds:
            kinds[row.price_kind][row.card].append(row.usd_per_hour / row.gpu_count)
    pairs = sorted(
        statistics.median(middle[card]) / low for card, lows in bottom.items() if card in middle for low in lows
    )
    assert len(pairs) >= 30
    assert pairs[int(0.9 * len(pairs))] == pytest.approx(1 + MARKET_SPREAD, abs=0.02)


def test_an_expired_offer_is_refused() -> None:
    """A price that the source ended is no price."""
    fault = refused(_body(), offers=(offer(valid_until="2026-07-31"),))
    assert (fault.code.value, fault.pointer) == ("offer_expired", "/options/0/price/offer")
    assert fault.params["valid_until"] == "2026-07-31"


def test_an_announced_price_is_refused_until_its_day() -> None:
    """So is one that is announced for later."""
    fault = refused(_body(), offers=(offer(valid_from="2026-12-01"),))
    assert (fault.code.value, fault.pointer) == ("offer_not_yet_valid", "/options/0/price/offer")


def test_offers_without_a_price_or_a_row_are_refused() -> None:
    """Prices on request are not guessed, and neither are names."""
    contact = offer(usd_per_hour=None, price_kind="contact")
    assert refused(_body(), offers=(contact,)).code.value == "offer_without_price"
    assert refused(_body()).code.value == "unknown_offer"


def test_an_offer_of_another_card_is_refused() -> None:
    """The card named and the offer must agree."""
    fault = refused(
        {"options": [option(price={"kind": "offer", "offer": BOX}, card="rtx-4090")], "work": job()}, offers=(offer(),)
    )
    assert (fault.code.value, fault.pointer) == ("offer_of_other_card", "/options/0/card")


def test_the_caller_states_the_rate_of_a_foreign_price() -> None:
    """75 cents of a euro at 1.1637 dollars are 87.3 cents, as the catalogue has the same offer."""
    price = {"kind": "caller", "per_hour": 0.75, "currency": {"code": "EUR", "usd": 1.1637}}
    costed = only(ask({"options": [option(price=price)], "work": job()}))
    assert costed.price.usd_per_hour == pytest.approx(0.8728, abs=1e-4)


def test_an_offer_in_euros_takes_the_rate_of_the_caller() -> None:
    """214 euros a month at 1.1637 over 730 hours are 34.1 cents an hour."""
    row = offer(usd_per_hour=None, price_native={"amount": 214, "currency": "EUR", "unit": "month"})
    rated = ask(_body(currency={"code": "EUR", "usd": 1.1637}), offers=(row,))
    assert only(rated).price.usd_per_hour == pytest.approx(0.3411, abs=1e-4)
    assert refused(_body(), offers=(row,)).code.value == "offer_in_other_currency"


def test_a_price_is_stated_once() -> None:
    """Dollars or another currency, not both, not neither; a foreign price needs its rate."""
    twice = {"kind": "caller", "usd_per_hour": 1, "per_hour": 1, "currency": {"code": "EUR", "usd": 1}}
    for price, code in ((twice, "exactly_one_of"), ({"kind": "caller"}, "exactly_one_of")):
        assert refused({"options": [option(price=price)], "work": job()}).code.value == code
    rateless = {"kind": "caller", "per_hour": 1}
    fault = refused({"options": [option(price=rateless)], "work": job()})
    assert (fault.code.value, fault.pointer) == ("needs_field", "/options/0/price/per_hour")


def test_the_total_is_also_given_in_the_currency_asked_for() -> None:
    """At 1.25 dollars a euro, ten dollars are eight euros."""
    costed = only(ask({"options": [option(10)], "work": job(), "currency": {"code": "EUR", "usd": 1.25}}))
    assert costed.in_currency is not None
    assert costed.in_currency.expected == pytest.approx(8)


def test_a_price_whose_currency_nobody_stated_is_said() -> None:
    """A provider prints 0.26 and no sign; the caller takes it for euros."""
    row = offer(usd_per_hour=None, price_native={"amount": 0.26, "currency": None, "unit": "hour"})
    rated = only(ask(_body(currency={"code": "EUR", "usd": 1.16}), offers=(row,)))
    assert rated.price.usd_per_hour == pytest.approx(0.26 * 1.16)
    assert [(notice.code.value, notice.params) for notice in rated.notices] == [
        ("price_currency_assumed", {"currency": "EUR"})
    ]
