"""A search with its bounds, and the same without: every choice that there is."""

from __future__ import annotations

from cardmatch.answers.model import resolve_model
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.conditions import conditions
from cardmatch.engine.advice.load import demanded
from cardmatch.engine.advice.market import market
from cardmatch.engine.advice.pace import Paces
from cardmatch.engine.advice.paced import paces_of
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.search import Found, search, tried_whole
from cardmatch.engine.advice.trying import Trying
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from tests.engine.advice.asking import DAY


def real_paces() -> Paces:
    """The speed room's own paces."""
    return paces_of(bundled().calibration.speed, presets().network, exact_model=True)


def everything(
    wanted: Wanted,
    paces: Paces,
    kept: frozenset[str] | None = None,
    workload: Inference | None = None,
    named: str = "llama 3.1 8b",
) -> tuple[Found, list[Choice]]:
    """What the search shows of *wanted* on the cards *kept*, and everything that there is without bounds."""
    world = bundled()
    model = resolve_model(world, named)
    asked = demanded(workload or Inference(), wanted, presets(), model.architecture.maximum_context_tokens)
    job, _ = settle(asked.workload, model.architecture, model.checkpoint, model.spread)
    shared = Trying(
        job=job,
        engine=asked.workload.engine,
        demand=asked.demand,
        calibration=world.calibration.serving,
        presets=presets(),
        paces=paces,
        offload=wanted.allow.offload,
    )
    on_sale = market(world.offers.values(), {}, world.providers, conditions(wanted, world.countries), DAY)
    objective = wanted.objective or Objective.COST_PER_MONTH
    cards = {name: card for name, card in world.cards.items() if kept is None or name in kept}
    return search(shared, cards, on_sale, wanted, objective), tried_whole(shared, cards, on_sale, wanted, objective)
