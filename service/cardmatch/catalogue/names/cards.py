"""Which card a name means: ids, product names, driver and scheduler labels, cloud instance types, everyday words."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.names.near import nearest
from cardmatch.catalogue.names.spelling import key, label, split_memory, without_words
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import Card, MigProfile, mig_profile
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.units import GIB

# Sources print the marketed size, GiB, or what the driver shows; the sizes of different cards lie further apart.
_SAME_SIZE = 0.07
_SUGGESTIONS = 5


class NamedCard(msgspec.Struct, frozen=True):
    """The card that a name means, the partition named with it, and whether the label says that it is time-shared."""

    card: Card
    mig: MigProfile | None
    shared: bool


def resolve_card(world: World, name: str, *, memory_gb: float | None = None, memory_bytes: int | None = None) -> Card:
    """The card that *name* means; a memory size settles a name that several cards share.

    Raises Invalid: `ambiguous_card` (suggestions are the candidates), `unknown_card` (the nearest names),
    `card_not_listed` (known, but not in the catalogue), `card_memory_conflict`, `unknown_mig_profile`.
    """
    exact = world.cards.get(name) if memory_gb is None and memory_bytes is None else None
    return exact or resolve_name(world, name, memory_gb=memory_gb, memory_bytes=memory_bytes).card


def resolve_name(
    world: World, name: str, *, memory_gb: float | None = None, memory_bytes: int | None = None
) -> NamedCard:
    """As `resolve_card`, with the partition (`…-MIG-3g.40gb`) and the mark (`…-SHARED`) of a Kubernetes label."""
    exact = world.cards.get(name)
    if exact is not None and memory_gb is None and memory_bytes is None:
        return NamedCard(exact, None, shared=False)
    named = label(name)
    cards, said_gb = _candidates(world, named.name)
    if not cards:
        raise Invalid(_unknown(world, named.name))
    sized = _of_size(cards, said_gb, None) if said_gb is not None else cards
    sized = _of_size(sized, memory_gb, memory_bytes) or _sibling(world, named.name, memory_gb)
    if not sized:
        raise Invalid(_conflict(name, cards))
    card, profile = _of_profile(name, sized, named.mig)
    return NamedCard(card, profile, named.shared)


def cards_of_family(world: World, name: str) -> tuple[Card, ...]:
    """Every card that *name* may mean in a filter, by id: `H100` is all of them, `hopper` the whole generation.

    Raises Invalid as `resolve_card` does, but never for a name that several cards share.
    """
    members = world.families.get(key(without_words(name)), ())
    cards, said_gb = _candidates(world, label(name).name)
    if said_gb is not None:
        cards = _of_size(cards, said_gb, None)
    found = {card.id: card for card in (*cards, *(world.cards[member] for member in members))}
    if not found:
        raise Invalid(_unknown(world, name))
    return tuple(found[card_id] for card_id in sorted(found))


def _candidates(world: World, name: str) -> tuple[tuple[Card, ...], float | None]:
    """The cards that *name* may mean, and the memory size in it where only the rest of the name is known."""
    bare = without_words(name)
    for spelling in (key(name), key(bare)):
        if spelling in world.card_names:
            return tuple(world.cards[card_id] for card_id in world.card_names[spelling]), None
    rest, memory_gb = split_memory(bare)
    if memory_gb is None:
        return (), None
    sized = world.card_names.get(f"{key(rest)}{memory_gb:g}gb")
    found = sized or world.card_names.get(key(rest), ())
    return tuple(world.cards[card_id] for card_id in found), None if sized else memory_gb


def _sibling(world: World, name: str, memory_gb: float | None) -> tuple[Card, ...]:
    """The cards called *name* with that size behind it: `A100-SXM4` is the 40 GB card, unless 80 GB are spoken of."""
    found = world.card_names.get(f"{key(without_words(name))}{round(memory_gb)}gb", ()) if memory_gb else ()
    return tuple(world.cards[card_id] for card_id in found)


def _of_size(cards: tuple[Card, ...], memory_gb: float | None, memory_bytes: int | None) -> tuple[Card, ...]:
    """The cards whose memory comes nearest to the size, and near enough to be called the same."""
    if memory_gb is None and memory_bytes is None:
        return cards
    distances = [_distance(card, memory_gb, memory_bytes) for card in cards]
    nearest = min(distances, default=1.0)
    if nearest > _SAME_SIZE:
        return ()
    return tuple(card for card, distance in zip(cards, distances, strict=True) if distance <= nearest + 0.005)


def _distance(card: Card, memory_gb: float | None, memory_bytes: int | None) -> float:
    """How far off the size is, relative to the nearest of the figures that the card is known by.

    A size in gigabytes may be the marketed one, or GiB that a driver or an engine printed.
    """
    seen = (card.visible.expected_bytes if card.visible else None, card.usable_bytes, card.usable_with_ecc_bytes)
    printed = [float(size) for size in seen if size] or [float(card.memory_gb * GIB)]
    if memory_bytes is not None:
        return min(abs(memory_bytes - size) / size for size in printed)
    sizes = [float(card.memory_gb), *(size / GIB for size in printed)]
    return min(abs((memory_gb or 0.0) - size) / size for size in sizes)


def _of_profile(name: str, cards: tuple[Card, ...], mig: str | None) -> tuple[Card, MigProfile | None]:
    """The one card left, and its partition; a profile that only one of several cards has settles the name too."""
    if mig is None:
        return _only(name, cards), None
    profiles = {card.id: profile for card in cards if (profile := mig_profile(card, mig))}
    if not profiles:
        known = sorted({profile.name for card in cards if card.mig for profile in card.mig.profiles})
        if not known:
            raise Invalid(Fault(code=FaultCode.MIG_NOT_SUPPORTED, pointer="", params={"card": cards[0].id}))
        raise Invalid(
            Fault(
                code=FaultCode.UNKNOWN_MIG_PROFILE,
                pointer="",
                params={"name": mig, "card": cards[0].id},
                suggestions=tuple(known),
            )
        )
    card = _only(name, tuple(card for card in cards if card.id in profiles))
    return card, profiles[card.id]


def _only(name: str, cards: tuple[Card, ...]) -> Card:
    if len(cards) == 1:
        return cards[0]
    ids = tuple(card.id for card in cards)
    raise Invalid(Fault(code=FaultCode.AMBIGUOUS_CARD, pointer="", params={"name": name}, suggestions=ids))


def _conflict(name: str, cards: tuple[Card, ...]) -> Fault:
    ids = tuple(card.id for card in cards)
    return Fault(code=FaultCode.CARD_MEMORY_CONFLICT, pointer="", params={"name": name}, suggestions=ids)


def _unknown(world: World, name: str) -> Fault:
    bare = without_words(name)
    code = FaultCode.CARD_NOT_LISTED if _is_known_elsewhere(world, bare) else FaultCode.UNKNOWN_CARD
    near = nearest(key(bare), world.card_names, limit=4 * _SUGGESTIONS)
    ids = dict.fromkeys(card_id for spelling in near for card_id in world.card_names[spelling])
    return Fault(code=code, pointer="", params={"name": name}, suggestions=tuple(ids)[:_SUGGESTIONS])


def _is_known_elsewhere(world: World, bare: str) -> bool:
    return bool({key(bare), key(split_memory(bare)[0])} & world.unlisted_cards)
