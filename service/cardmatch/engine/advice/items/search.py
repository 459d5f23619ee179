"""Every card and slice that holds a copy, and every offer of it: copies of one GPU leave nothing else to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.candidates import AS_PUBLISHED, Form, forms_of, runs_on
from cardmatch.engine.advice.choice import Broken, Choice, choices
from cardmatch.engine.advice.conditions import refused_card
from cardmatch.engine.advice.fate import Fate, remember
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Market
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.rank import Skyline
from cardmatch.engine.advice.search import Found
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.hardware.layout import SINGLE
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.kv_formats import KvFormat

Trials = Callable[[Form], Iterator[tuple[Tried, Broken | None]]]
"""A form with each of the settings worth trying on it, and the limit that it breaks, if any."""


class Copies(NamedTuple):
    """What all cards share: the demand, who runs on which cards, and what is tried on each; some cards are *unfit*."""

    demand: Demand
    wanted: Wanted
    objective: Objective
    presets: Presets
    engine: str
    unfit: Callable[[Card], str | None]
    trials: Trials


def search_copies(shared: Copies, cards: Mapping[str, Card], market: Market) -> Found:
    """The options, best first, and the fate of every card."""
    fates: dict[str, Fate] = {}
    skyline, considered = Skyline(shared.wanted.limit), 0
    here = msgspec.structs.replace(shared.wanted, nodes=1)  # no copy spans machines, how many may be allowed
    for card in cards.values():
        refused = _refused(shared, card, market)
        if refused is not None:
            fates[card.id] = Fate(refused=refused)
            continue
        for form in forms_of(card, market.lots[card.id], {1: SINGLE}, (AS_PUBLISHED,), here, 1):
            for found, broken in shared.trials(form):
                considered += 1
                _add(shared, found, broken, skyline, fates)
    return Found(skyline.options(), fates, considered)


def _refused(shared: Copies, card: Card, market: Market) -> str | None:
    refused = refused_card(card, shared.wanted.constraints)
    if refused is None and not runs_on(shared.presets.engines[shared.engine], card):
        refused = "engine"
    if refused is None:
        refused = shared.unfit(card)
    return "offers" if refused is None and card.id not in market.lots else refused


def _add(shared: Copies, found: Tried, broken: Broken | None, skyline: Skyline, fates: dict[str, Fate]) -> None:
    form, size = found.form, found.size
    if size is None:
        remember(fates, form, Fate(tried=found, broken=broken))
        return
    asked = shared.wanted.constraints
    for each in choices(found, KvFormat.AUTO, size, shared.demand, asked, shared.objective, shared.presets):
        if isinstance(each, Choice):
            skyline.add(each)
            remember(fates, form, Fate(best=each))
        else:
            remember(fates, form, Fate(tried=found, broken=each))


def placement_of(form: Form) -> Placement:
    """Where one copy of *form* runs."""
    return Placement(device=form.device, count=1, layout=SINGLE)
