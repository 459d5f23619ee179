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
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.search import Found, search, tried_whole
from cardmatch.engine.advice.trying import Trying
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from tests.engine.advice.asking import DAY


def everything(wanted: Wanted, paces: Paces) -> tuple[Found, list[Choice]]:
    """What the search shows of *wanted*, and everything that it would have looked at without bounds."""
    world = bundled()
    model = resolve_model(world, "llama 3.1 8b")
    asked = demanded(Inference(), wanted, presets(), model.architecture.maximum_context_tokens)
    job, _ = settle(asked.workload, model.architecture, model.checkpoint, model.spread)
    shared = Trying(
        job=job,
        engine=asked.workload.engine,
        demand=asked.demand,
        calibration=world.calibration.serving,
        presets=presets(),
        paces=paces,
        offload=False,
    )
    on_sale = market(world.offers.values(), {}, world.providers, conditions(wanted, world.countries), DAY)
    objective = wanted.objective or Objective.COST_PER_MONTH
    return search(shared, world.cards, on_sale, wanted, objective), tried_whole(
        shared, world.cards, on_sale, wanted, objective
    )
