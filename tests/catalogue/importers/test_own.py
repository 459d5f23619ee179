"""An operator's own prices: four formats, the fields of an offer, any name for the card."""

import datetime as dt

import msgspec
import pytest

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.importers import own
from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.rules import offers_of
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.offer import AsOfKind, Offer, Tier

ORIGIN = Origin(name="prices", as_of=dt.date(2026, 12, 1), as_of_kind=AsOfKind.ESTIMATED)

JSON = b'[{"provider": "Acme Cloud", "card": "RTX 4090", "usd_per_hour": 0.4, "server_country": "IS"}]'
FORMATS = {
    "prices.json": JSON,
    "object.json": b'{"offers": ' + JSON + b"}",
    "prices.jsonl": JSON[1:-1] + b"\n",
    "prices.csv": b"provider,card,usd_per_hour,server_country,note\nAcme Cloud,RTX 4090,0.4,IS,\n",
    "prices.toml": b"""[[offers]]
provider = "Acme Cloud"
card = "RTX 4090"
usd_per_hour = 0.4
server_country = "IS"
""",
}


def judged(raw: bytes, name: str = "prices.json") -> tuple[list[Offer], list[Rejection]]:
    """The offers and rejections of a file."""
    rows = list(own.drafts(own.read(raw, name), ORIGIN))
    offers, left = offers_of(bundled(), [row for row in rows if isinstance(row, Draft)])
    return offers, [*(row for row in rows if isinstance(row, Rejection)), *left]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_brings_the_same_offer(name: str) -> None:
    """Provider, card and price are enough; the rest has defaults."""
    (offer,), left = judged(FORMATS[name], name)
    assert left == []
    assert (offer.provider, offer.card, offer.usd_per_hour, offer.server_country) == (
        "acme-cloud",
        "rtx-4090",
        0.4,
        "IS",
    )
    assert (offer.gpu_count, offer.tier, offer.instance_type) == (1, Tier.STANDARD, "1x RTX 4090")
    assert (offer.as_of, offer.as_of_kind) == (dt.date(2026, 12, 1), AsOfKind.ESTIMATED)


def test_a_row_may_state_its_own_day() -> None:
    """Then the day is exact, whatever the file's date."""
    (offer,), _ = judged(b'[{"provider": "a", "card": "l4", "usd_per_hour": 0.4, "as_of": "2026-11-20"}]')
    assert (offer.as_of, offer.as_of_kind, offer.as_of_range) == (dt.date(2026, 11, 20), AsOfKind.EXACT, None)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"card": "l4", "usd_per_hour": 1}, RejectReason.MALFORMED),
        ({"provider": "a", "card": "l4", "usd_per_hour": 1, "colour": "red"}, RejectReason.MALFORMED),
        ({"provider": "a", "card": "l4", "usd_per_hour": "cheap"}, RejectReason.MALFORMED),
        ({"provider": "a", "card": "l4", "usd_per_hour": -1}, RejectReason.PRICE_IMPLAUSIBLE),
        ({"provider": "a", "card": "l4", "usd_per_hour": 0}, RejectReason.NO_PRICE),
        ({"provider": "a", "card": "l4"}, RejectReason.NO_PRICE),
        ({"provider": "a", "card": "l4", "usd_per_hour": 80}, RejectReason.PRICE_IMPLAUSIBLE),
        ({"provider": "a", "card": "rtx 4o90", "usd_per_hour": 1}, RejectReason.UNKNOWN_CARD),
        ({"provider": "a", "card": "rtx 3060", "usd_per_hour": 1}, RejectReason.CARD_NOT_LISTED),
        ({"provider": "a", "card": "l4", "memory_gb": 48, "usd_per_hour": 1}, RejectReason.CARD_MEMORY_CONFLICT),
        ({"provider": "a", "card": "l4", "usd_per_hour": 1, "gpu_count": 0}, RejectReason.MALFORMED),
        ({"provider": "!", "card": "l4", "usd_per_hour": 1}, RejectReason.MALFORMED),
        ("l4 for a dollar", RejectReason.MALFORMED),
    ],
)
def test_each_bad_row_is_left_out_with_its_reason(row: object, reason: RejectReason) -> None:
    """And the good row after it is taken."""
    good = {"provider": "a", "card": "t4", "usd_per_hour": 0.2}
    offers, left = judged(msgspec.json.encode([row, good]))
    assert [offer.card for offer in offers] == ["t4"]
    assert [(rejection.place, rejection.reason) for rejection in left] == [("prices#0", reason)]


@pytest.mark.parametrize(
    "named", [{"card": "a100-sxm-80", "mig_profile": "3g.40gb"}, {"card": "A100-SXM4-80GB-MIG-3g.40gb"}]
)
def test_a_slice_of_a_card_is_offered_as_one(named: dict[str, str]) -> None:
    """In a field of its own or in the name: the price of a slice is never taken for that of the card."""
    (offer,), left = judged(msgspec.json.encode([{"provider": "a", "usd_per_hour": 0.9, **named}]))
    assert left == []
    assert (offer.card, offer.mig_profile) == ("a100-sxm-80", "3g.40gb")


def test_a_slice_that_the_card_lacks_is_left_out() -> None:
    """An L4 cannot be partitioned."""
    _, left = judged(b'[{"provider": "a", "card": "l4", "mig_profile": "1g.5gb", "usd_per_hour": 0.1}]')
    assert [row.reason for row in left] == [RejectReason.UNKNOWN_MIG_PROFILE]


def test_a_country_that_is_not_in_the_catalogue_is_unknown() -> None:
    """A made-up code becomes null rather than a dangling reference."""
    (offer,), _ = judged(b'[{"provider": "a", "card": "l4", "usd_per_hour": 1, "server_country": "XX"}]')
    assert offer.server_country is None


def test_what_the_catalogue_exports_can_be_brought_in_again() -> None:
    """Every bundled offer survives the round trip through an own file, candidates and native prices included."""
    bundle = [offer for offer in bundled_snapshot().offers if offer.usd_per_hour or offer.card_candidates]
    offers, left = judged(msgspec.json.encode(bundle))
    assert left == []
    assert {offer.id: offer for offer in offers} == {offer.id: offer for offer in bundle}


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("a.json", b""),
        ("a.json", b"nonsense"),
        ("a.json", b"{}"),
        ("a.json", b'{"prices": []}'),
        ("a.json", b'{"offers": 1}'),
        ("a.json", b'{"providers": [{"id": "x"}]}'),
        ("a.json", b"[" * 100_000),
        ("a.jsonl", b'{"provider": "a"}\n{"provi'),
        ("a.toml", b"[[offers]\n"),
        ("a.toml", b"\xff"),
        ("a.csv", b"\xff\xfe"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_whole(name: str, raw: bytes) -> None:
    """The message names the file."""
    with pytest.raises(Unreadable, match=r"^a\."):
        own.read(raw, name)
