"""What differs between two snapshots: offers that came, went, or changed their price."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.snapshot import Snapshot
from cardmatch.engine.money.offer import Offer


class PriceChange(msgspec.Struct, frozen=True, kw_only=True):
    """An offer at two times. `share` is the change of the price on demand: 0.25 is a quarter dearer."""

    offer: str
    before_usd_per_hour: float | None
    after_usd_per_hour: float | None
    before_spot_usd_per_hour: float | None
    after_spot_usd_per_hour: float | None
    share: float | None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that differs; ids in order, price changes by how large they are."""

    added_offers: tuple[str, ...]
    removed_offers: tuple[str, ...]
    changed_prices: tuple[PriceChange, ...]
    added_cards: tuple[str, ...]
    removed_cards: tuple[str, ...]
    changed_cards: tuple[str, ...]
    added_providers: tuple[str, ...]
    removed_providers: tuple[str, ...]
    changed_providers: tuple[str, ...]


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """What happened between *before* and *after*."""
    old, new = {row.id: row for row in before.offers}, {row.id: row for row in after.offers}
    cards = _rows({row.id: row for row in before.cards}, {row.id: row for row in after.cards})
    providers = _rows({row.id: row for row in before.providers}, {row.id: row for row in after.providers})
    changes = [_change(old[key], new[key]) for key in sorted(old.keys() & new.keys()) if _moved(old[key], new[key])]
    return Difference(
        added_offers=tuple(sorted(new.keys() - old.keys())),
        removed_offers=tuple(sorted(old.keys() - new.keys())),
        changed_prices=tuple(sorted(changes, key=lambda change: (-abs(change.share or 0.0), change.offer))),
        added_cards=cards[0],
        removed_cards=cards[1],
        changed_cards=cards[2],
        added_providers=providers[0],
        removed_providers=providers[1],
        changed_providers=providers[2],
    )


def _rows(old: dict[str, object], new: dict[str, object]) -> tuple[tuple[str, ...], ...]:
    """Keys that came, that went, and whose row differs."""
    changed = (key for key in old.keys() & new.keys() if old[key] != new[key])
    return tuple(sorted(new.keys() - old.keys())), tuple(sorted(old.keys() - new.keys())), tuple(sorted(changed))


def _moved(old: Offer, new: Offer) -> bool:
    return (old.usd_per_hour, old.spot_usd_per_hour) != (new.usd_per_hour, new.spot_usd_per_hour)


def _change(old: Offer, new: Offer) -> PriceChange:
    both = old.usd_per_hour is not None and new.usd_per_hour is not None
    return PriceChange(
        offer=new.id,
        before_usd_per_hour=old.usd_per_hour,
        after_usd_per_hour=new.usd_per_hour,
        before_spot_usd_per_hour=old.spot_usd_per_hour,
        after_spot_usd_per_hour=new.spot_usd_per_hour,
        share=round((new.usd_per_hour or 0.0) / (old.usd_per_hour or 1.0) - 1, 4) if both else None,
    )
