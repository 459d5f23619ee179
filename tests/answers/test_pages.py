"""Pages: every row once, in one order, from one snapshot."""

import base64

import msgspec
import pytest

from cardmatch.answers.offers import OfferOrder, OffersQuery, list_offers
from cardmatch.catalogue.world import World, bundled, succeed
from cardmatch.engine.terms.fault import FaultCode, Invalid

WORLD = bundled()


def walk(world: World, **query: object) -> list[str]:
    """The ids of every page of a listing, one after another."""
    ids: list[str] = []
    cursor = None
    while True:
        shown = list_offers(world, OffersQuery(cursor=cursor, **query))  # type: ignore[arg-type] # given by name
        ids += [offer.id for offer in shown.offers]
        cursor = shown.next_cursor
        if cursor is None:
            return ids


@pytest.mark.parametrize("limit", [1, 7, 100, 200])
@pytest.mark.parametrize("order", OfferOrder)
def test_pages_hold_every_row_once(order: OfferOrder, limit: int) -> None:
    """Whatever the page size, all pages together are the listing."""
    ids = walk(WORLD, limit=limit, order=order)
    assert len(ids) == len(set(ids)) == len(WORLD.offers)
    assert ids == walk(WORLD, limit=200, order=order)


def test_a_price_order_puts_unpriced_offers_last() -> None:
    """Cheapest instance first; what has no price comes after everything that has."""
    ids = walk(WORLD, limit=200, order=OfferOrder.PRICE)
    prices = [WORLD.offers[row].usd_per_hour for row in ids]
    priced = [price for price in prices if price is not None]
    assert priced == sorted(priced)
    assert set(prices[len(priced) :]) == {None}


def test_a_cursor_continues_in_the_snapshot_of_its_first_page() -> None:
    """A refresh between two pages neither repeats nor loses a row, as long as the snapshot is kept."""
    first = list_offers(WORLD, OffersQuery(limit=10))
    newer = msgspec.structs.replace(WORLD, version="f" * 64, offers={})
    second = list_offers(succeed(WORLD, newer), OffersQuery(limit=10, cursor=first.next_cursor))
    assert second.catalogue.version == WORLD.version
    assert [offer.id for offer in second.offers] == list(WORLD.offers)[10:20]


def test_a_cursor_of_a_snapshot_that_is_gone_goes_on_in_the_current_one() -> None:
    """Rows are found by where they stand, so nothing is shown twice."""
    first = list_offers(WORLD, OffersQuery(limit=10))
    newer = msgspec.structs.replace(WORLD, version="f" * 64)
    second = list_offers(newer, OffersQuery(limit=10, cursor=first.next_cursor))
    assert second.catalogue.version == "f" * 64
    assert [offer.id for offer in second.offers] == list(WORLD.offers)[10:20]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "????",
        "ünïcode",
        base64.urlsafe_b64encode(b"null").decode(),
        base64.urlsafe_b64encode(b'["0","",1]').decode(),
        base64.urlsafe_b64encode(b'["0000000000000000",[false,"x","y"]]').decode(),
        base64.urlsafe_b64encode(b"[" * 200).decode(),
    ],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    """A made-up cursor is the caller's mistake, never a crash."""
    with pytest.raises(Invalid) as refusal:
        list_offers(WORLD, OffersQuery(cursor=cursor))
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.WRONG_CURSOR, "/cursor")
