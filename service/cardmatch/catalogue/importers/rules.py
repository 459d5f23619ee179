"""The rules that turn drafts into offers. Each exists because a published catalogue got it wrong."""

from __future__ import annotations

import datetime as dt
import functools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from cardmatch.catalogue.importers.draft import Draft, Rejection, RejectReason
from cardmatch.catalogue.importers.knowledge import country_of
from cardmatch.catalogue.names.cards import resolve_card
from cardmatch.catalogue.names.spelling import label
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import MigProfile, Topology, mig_profile
from cardmatch.engine.money.offer import Offer, OfferLink, PriceKind
from cardmatch.engine.terms.fault import FaultCode, Invalid

# A price this many times above or below the median of its family of cards is a slip of the decimal point, cents for
# dollars, or a bid; in the bundled market the widest family (V100) lies within a factor of nine of its median.
IMPLAUSIBLE_FACTOR = 12.0
_FEWEST_FOR_MEDIAN = 3
_REASONS = {
    FaultCode.CARD_NOT_LISTED: RejectReason.CARD_NOT_LISTED,
    FaultCode.CARD_MEMORY_CONFLICT: RejectReason.CARD_MEMORY_CONFLICT,
    FaultCode.UNKNOWN_MIG_PROFILE: RejectReason.UNKNOWN_MIG_PROFILE,
}
_LINKS: dict[Topology | None, OfferLink] = {Topology.NVSWITCH: OfferLink.NVSWITCH, Topology.BRIDGE: OfferLink.BRIDGE}
Result = Offer | Rejection
Cards = tuple[str, ...]


def offers_of(
    world: World, drafts: Iterable[Draft], today: dt.date = dt.date.max
) -> tuple[list[Offer], list[Rejection]]:
    """The offers in *drafts*, one an id, and every row that is none, with its reason."""
    rules = _Rules(world, today)
    offers: list[tuple[str, Offer]] = []
    rejections: list[Rejection] = []
    for draft in drafts:
        result = rules.judge(draft)
        if isinstance(result, Rejection):
            rejections.append(result)
        else:
            offers.append((draft.place, result))
    kept, shared = _without_shared_prices(offers)
    merged, duplicates = _one_an_id(kept)
    return merged, [*rejections, *shared, *duplicates]


class _Rules:
    """The rules over one World, with the names resolved so far: sources repeat a name on thousands of rows."""

    def __init__(self, world: World, today: dt.date) -> None:
        self._world = world
        # Somewhere it is tomorrow already.
        self._latest = today if today == dt.date.max else today + dt.timedelta(days=1)
        self._cards = functools.cache(self._resolve)
        self._medians = _medians(world)

    def judge(self, draft: Draft) -> Result:
        """The offer that *draft* is, or why it is none."""
        if draft.as_of > self._latest:
            # It would win over every later reading until that day comes.
            return _reject(draft, RejectReason.MALFORMED, f"read on {draft.as_of}, which is still to come")
        cards = self._known(draft.card_candidates) or self._cards(draft.card_names, draft.memory_gb)
        if isinstance(cards, RejectReason):
            return _reject(draft, cards, " / ".join(draft.card_names))
        mig = self._partition(cards, draft)
        if isinstance(mig, Rejection):
            return mig
        usd, spot = _prices(draft)
        if usd is None and spot is None and draft.price_native is None and draft.price_kind is not PriceKind.CONTACT:
            return _reject(draft, RejectReason.NO_PRICE, "no price, or zero, which means that none is known")
        if odd := self._implausible(
            cards, (usd or spot or 0.0) / draft.gpu_count / (mig.bandwidth_share if mig else 1)
        ):
            return _reject(draft, RejectReason.PRICE_IMPLAUSIBLE, odd)
        return self._offer(draft, cards, usd, spot)

    def _partition(self, cards: Cards, draft: Draft) -> MigProfile | Rejection | None:
        """The MIG profile that the row offers, in a field of its own or in the card's name, as each card has it."""
        name = draft.facts.get("mig_profile") or next(
            filter(None, (label(each).mig for each in draft.card_names)), None
        )
        if name is None:
            return None
        profiles = [mig_profile(self._world.cards[card], name) for card in cards]
        first = profiles[0]
        if first is None or None in profiles:
            return _reject(draft, RejectReason.UNKNOWN_MIG_PROFILE, f"{name} of {' or '.join(cards)}")
        draft.facts = {**draft.facts, "mig_profile": first.name}
        return first

    def _known(self, ids: Cards) -> Cards:
        return ids if all(card in self._world.cards for card in ids) else ()

    def _resolve(self, names: tuple[str, ...], sizes: tuple[float, ...]) -> Cards | RejectReason:
        """The cards that the first telling name means, narrowed by whichever reading of the memory fits one of them."""
        best: Cards = ()
        reason = RejectReason.UNKNOWN_CARD
        for name in names:
            found, why = self._meanings(name, sizes)
            if found and (not best or len(found) < len(best)):
                best = found
            reason = why or reason
            # A name that is known, but not with this memory, is not to be explained away by a vaguer one.
            if len(best) == 1 or (not best and why is RejectReason.CARD_MEMORY_CONFLICT):
                break
        return best or reason

    def _meanings(self, name: str, sizes: tuple[float, ...]) -> tuple[Cards, RejectReason | None]:
        """The cards that *name* may mean with one of the memory *sizes*, or why there is none."""
        why: RejectReason | None = None
        for size in sizes or (None,):
            try:
                return (resolve_card(self._world, name, memory_gb=size).id,), None
            except Invalid as refusal:
                (fault,) = refusal.faults
                if fault.code is FaultCode.AMBIGUOUS_CARD:
                    return fault.suggestions, None
                why = _REASONS.get(fault.code, RejectReason.UNKNOWN_CARD)
        return (), why

    def _implausible(self, cards: Cards, usd_per_gpu: float) -> str | None:
        """What is odd about a price, compared with the median of the cards that it may be for."""
        families = {self._world.cards[card].family for card in cards}
        medians = [self._medians[family] for family in families if family in self._medians]
        if not medians or usd_per_gpu == 0:
            return None
        if min(medians) / IMPLAUSIBLE_FACTOR <= usd_per_gpu <= max(medians) * IMPLAUSIBLE_FACTOR:
            return None
        return f"{usd_per_gpu:.4g} USD per GPU-hour, where {statistics.median(medians):.4g} is usual"

    def _offer(self, draft: Draft, cards: Cards, usd: float | None, spot: float | None) -> Result:
        row = {name: getattr(draft, name) for name in _COPIED} | draft.facts
        row |= {
            "id": draft.id or offer_id(draft),
            "card": cards[0] if len(cards) == 1 else None,
            "card_candidates": cards if len(cards) > 1 else None,
            "usd_per_hour": usd,
            "spot_usd_per_hour": spot,
            "server_country": self._country(draft),
            "link": draft.link or (self._link(cards) if draft.nvlink else None),
        }
        try:
            return msgspec.convert(row, Offer)
        except msgspec.ValidationError as problem:
            return _reject(draft, RejectReason.MALFORMED, str(problem))

    def _link(self, cards: Cards) -> OfferLink | None:
        """What joins cards that are said to be joined: what all that they may be have in common."""
        links = [self._world.cards[card].nvlink for card in cards]
        topologies = {None if link is None else link.topology for link in links}
        return _LINKS.get(topologies.pop()) if len(topologies) == 1 else None

    def _country(self, draft: Draft) -> str | None:
        code = draft.server_country or country_of(draft.provider, draft.region)
        return code if code in self._world.countries else None


_COPIED = (
    *("provider", "instance_type", "gpu_count", "vcpus", "ram_gb", "price_kind", "price_native", "tier", "broker"),
    *("region", "as_of", "as_of_kind", "as_of_range", "source", "note"),
)


def offer_id(draft: Draft) -> str:
    """Provider / instance / region / tier, each in lower case with dashes; a broker stands before the instance."""
    instance = f"{draft.broker}-{draft.instance_type}" if draft.broker else draft.instance_type
    return "/".join((draft.provider, _slug(instance), _slug(draft.region or "any"), draft.tier))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "any"


def _prices(draft: Draft) -> tuple[float | None, float | None]:
    """On demand and spot; a spot price that is not below the list price is a copy of it, and says nothing."""
    usd, spot = draft.usd_per_hour or None, draft.spot_usd_per_hour or None
    return usd, None if usd is not None and spot is not None and spot >= usd else spot


def _medians(world: World) -> dict[str, float]:
    """What a card-hour of each family costs, where enough offers name the family to say so."""
    prices: defaultdict[str, list[float]] = defaultdict(list)
    for offer in world.offers.values():
        ids = (offer.card,) if offer.card else offer.card_candidates or ()
        families = {world.cards[card].family for card in ids}
        if len(families) == 1 and offer.usd_per_hour is not None:
            prices[families.pop()].append(offer.usd_per_hour / offer.gpu_count)
    return {family: statistics.median(each) for family, each in prices.items() if len(each) >= _FEWEST_FOR_MEDIAN}


def _without_shared_prices(offers: list[tuple[str, Offer]]) -> tuple[list[tuple[str, Offer]], list[Rejection]]:
    """Leave out a price that one instance type has for cards of different memory: it belongs to neither."""
    cards: defaultdict[tuple[str, str | None, str, float | None], set[str | None]] = defaultdict(set)
    for _, offer in offers:
        cards[_price_key(offer)].add(offer.card)
    shared = {key for key, found in cards.items() if len(found) > 1 and None not in found and key[3] is not None}
    kept = [(place, offer) for place, offer in offers if _price_key(offer) not in shared]
    detail = "the same instance and price stand for several cards"
    left = [
        Rejection(place=place, reason=RejectReason.PRICE_SHARED_BY_CARDS, detail=f"{offer.card}: {detail}")
        for place, offer in offers
        if _price_key(offer) in shared
    ]
    return kept, left


def _price_key(offer: Offer) -> tuple[str, str | None, str, float | None]:
    return offer.provider, offer.broker, offer.instance_type, offer.usd_per_hour


def _one_an_id(offers: list[tuple[str, Offer]]) -> tuple[list[Offer], list[Rejection]]:
    """One offer an id: zones of a region and halves of a row (list and spot apart) become one, at the dearer price."""
    merged: dict[str, Offer] = {}
    duplicates = []
    for place, offer in offers:
        before = merged.get(offer.id)
        merged[offer.id] = offer if before is None else _dearer(before, offer)
        if before is not None:
            detail = f"merged into {offer.id}"
            duplicates.append(Rejection(place=place, reason=RejectReason.DUPLICATE, detail=detail))
    return [merged[key] for key in sorted(merged)], duplicates


def _dearer(one: Offer, other: Offer) -> Offer:
    """Both rows as one: what is paid at most, whichever zone it is."""
    usd = max((price for row in (one, other) if (price := row.usd_per_hour) is not None), default=None)
    spot = max((price for row in (one, other) if (price := row.spot_usd_per_hour) is not None), default=None)
    spot = None if usd is not None and spot is not None and spot >= usd else spot
    return msgspec.structs.replace(one, usd_per_hour=usd, spot_usd_per_hour=spot)


def _reject(draft: Draft, reason: RejectReason, detail: str) -> Rejection:
    return Rejection(place=draft.place, reason=reason, detail=detail)
