"""Offers: when a price holds, and how old it is."""

import datetime as dt

import msgspec
import pytest

from cardmatch.engine.money.offer import AsOfKind, Offer, PriceKind, Tier, age_days, is_effective

OFFER = Offer(
    id="acme/box/any/standard",
    provider="acme",
    instance_type="box",
    card="rtx-4090",
    card_candidates=None,
    gpu_count=1,
    usd_per_hour=0.5,
    price_kind=PriceKind.LIST,
    tier=Tier.STANDARD,
    as_of=dt.date(2026, 10, 1),
    as_of_kind=AsOfKind.EXACT,
    source="a price list",
)


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "effective"),
    [
        (None, None, True),
        (dt.date(2026, 10, 15), None, True),
        (dt.date(2026, 10, 16), None, False),
        (None, dt.date(2026, 10, 15), True),
        (None, dt.date(2026, 10, 14), False),
    ],
)
def test_a_price_holds_between_its_days(
    valid_from: dt.date | None,
    valid_until: dt.date | None,
    effective: bool,  # noqa: FBT001 - a parameter of the table above
) -> None:
    """Both days that a source announces are included."""
    offer = msgspec.structs.replace(OFFER, valid_from=valid_from, valid_until=valid_until)
    assert is_effective(offer, dt.date(2026, 10, 15)) is effective


def test_a_price_ages_by_the_day() -> None:
    """Age counts from the day on which the price was read, and is never negative."""
    assert age_days(OFFER, dt.date(2026, 10, 31)) == 30
    assert age_days(OFFER, dt.date(2026, 9, 1)) == 0


@pytest.mark.parametrize("price", ["0", "-1", "1e9", "NaN", '"0.5"'])
def test_a_price_that_cannot_be_is_refused(price: str) -> None:
    """Zero is not a price: catalogues print it where they know none."""
    row = msgspec.json.encode(OFFER).replace(b'"usd_per_hour":0.5', b'"usd_per_hour":' + price.encode())
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(row, type=Offer)
