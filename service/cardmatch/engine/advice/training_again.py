"""A training run searched again on one card under a changed request: ways back are tried before they are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cardmatch.engine.advice.asking import Asking, Room, Ways
from cardmatch.engine.advice.fate import Fate
from cardmatch.engine.advice.openings import openings
from cardmatch.engine.advice.reasked import Sold
from cardmatch.engine.advice.training_search import Runs, search_runs


class RunsAgain(NamedTuple):
    """The runs as they were searched, and what is for sale."""

    runs: Runs
    sold: Sold

    @property
    def ways(self) -> Ways:
        """How ways back are looked for; a run has no targets, and no other engine."""
        return Ways(
            fate=self.fate,
            targets=lambda _asking, _fate: {},
            openings=self.openings,
            engines=lambda _card: (),
            spilled=lambda _asking, _fate: None,
            room=lambda _asking, _card, _fate: Room(2, short_of_cache=False),
        )

    def fate(self, asking: Asking, card: str) -> Fate:
        """What becomes of *card* under *asking*."""
        wanted, sold = asking.wanted, self.sold
        job = wanted.job
        demand = self.runs.demand._replace(deadline_hours=job.deadline_hours if job else None)
        runs = self.runs._replace(wanted=wanted, demand=demand)
        on_sale = sold.under(asking, card, self.runs.wanted)
        return search_runs(runs, {card: sold.cards[card]}, on_sale).fates.get(card, Fate())

    def openings(self, asking: Asking, card: str) -> Iterator[dict[str, Any]]:
        """What lets in an offer of *card*."""
        sold = self.sold
        on_sale = sold.under(asking, card, self.runs.wanted)
        unknown = tuple([each for each in on_sale.unknown if each.offer.card == card])
        rejected = (*unknown, *on_sale.rejected.get(card, ()))
        return openings(asking.wanted.constraints, rejected, sold.providers, sold.countries)
