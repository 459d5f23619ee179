"""Every machine that a training run fits on: card, how many, and the offers that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cardmatch.engine.advice.candidates import AS_PUBLISHED, COUNTS, Form, holding, link_of, runs_on
from cardmatch.engine.advice.choice import Choice, choices
from cardmatch.engine.advice.conditions import refused_card
from cardmatch.engine.advice.fate import Fate, remember
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Market
from cardmatch.engine.advice.pace import Served, TrainingPace
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.rank import Skyline
from cardmatch.engine.advice.search import Found
from cardmatch.engine.advice.sizing import Sized
from cardmatch.engine.advice.trying import GOOD, Outcome, Tried
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.device import whole_device
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.placed import placed
from cardmatch.engine.memory.training.recipes import Precision
from cardmatch.engine.memory.training.trials import Trials, attempted, described
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.kv_formats import KvFormat

_SUPPORT = "transformers"
_MACHINES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
"""Machines of one run that are worth a try: with more of them one counts less."""

_WITHOUT_BF16 = frozenset({Precision.FP16, Precision.FP32, Precision.MIXED_FP16})


class Runs(NamedTuple):
    """What all placements of one training request share."""

    trials: Trials
    demand: Demand
    wanted: Wanted
    objective: Objective
    presets: Presets
    pace: TrainingPace | None


def search_runs(runs: Runs, cards: Mapping[str, Card], market: Market) -> Found:
    """The options of a training run, best first, and the fate of every card."""
    fates: dict[str, Fate] = {}
    skyline, considered = Skyline(runs.wanted.limit), 0
    for card in cards.values():
        refused = refused_card(card, runs.wanted.constraints)
        if refused is None and not runs_on(runs.presets.engines[_SUPPORT], card):
            refused = "engine"
        if refused is None and not _computes(card, runs.trials.job.workload.precision):
            refused = "precision"
        if refused is None and card.id not in market.lots:
            refused = "offers"
        if refused is not None:
            fates[card.id] = Fate(refused=refused)
            continue
        for form in _forms(runs, card, market):
            considered += 1
            _try(runs, form, skyline, fates)
    return Found(skyline.options(), fates, considered)


def _computes(card: Card, precision: Precision | None) -> bool:
    """Whether *card* has the arithmetic; without BF16 a Trainer refuses it (transformers, training_args.py)."""
    return precision in _WITHOUT_BF16 or card.dense.bf16_tflops is not None


def _forms(runs: Runs, card: Card, market: Market) -> list[Form]:
    """1, 2, 4 and 8 cards of one machine, data parallel; a sharding that was asked for needs more than one."""
    found, wanted = [], runs.wanted
    shards = runs.trials.job.workload.sharding not in {None, Sharding.NONE}
    for count in COUNTS if wanted.allow.multi_gpu else COUNTS[:1]:
        lots = holding(market.lots[card.id], card, count, None, wanted)
        if lots and (count > 1 or not shards) and count <= (wanted.constraints.max_gpus or count):
            link = link_of(lots, card) if count > 1 else None
            found.append(Form(card, whole_device(card), count, Layout(data=count), AS_PUBLISHED, None, 1, link, lots))
    return [*found, *_over_machines(card, market, wanted)]


def _over_machines(card: Card, market: Market, wanted: Wanted) -> list[Form]:
    """Whole machines side by side, data parallel over all their cards."""
    found, most = [], wanted.constraints.max_gpus
    for count in COUNTS if wanted.nodes > 1 and wanted.allow.multi_gpu else ():
        lots = holding(market.lots[card.id], card, count, None, wanted)
        whole = tuple([lot for lot in lots if lot.offer.gpu_count == count])
        link = link_of(whole, card) if count > 1 else None
        for nodes in _MACHINES if whole else ():
            gpus = count * nodes
            if nodes <= wanted.nodes and gpus <= (most or gpus):
                layout = Layout(data=gpus)
                found.append(Form(card, whole_device(card), gpus, layout, AS_PUBLISHED, None, 1, link, whole, nodes))
    return found


def placement_of(form: Form) -> Placement:
    """Where *form* trains."""
    return Placement(device=form.device, count=form.gpus, layout=form.layout, link=form.link, nodes=form.nodes)


def estimated(runs: Runs, form: Form) -> TrainingPlacement:
    """The memory of the run on *form*."""
    shared, where = runs.trials, placement_of(form)
    tried = attempted(shared, shared.job, mesh(shared.job.workload, shared.job.default_sharding, where))
    return placed(tried, described(shared, tried), where)


def _try(runs: Runs, form: Form, skyline: Skyline, fates: dict[str, Fate]) -> None:
    where, memory = placement_of(form), estimated(runs, form)
    if memory.verdict not in GOOD and not (runs.wanted.allow.offload and memory.verdict is Verdict.TIGHT):
        outcome = Outcome.TIGHT if memory.verdict is Verdict.TIGHT else Outcome.DOES_NOT_FIT
        missing = memory.per_gpu.total.expected_bytes - memory.budget_bytes
        remember(fates, form, Fate(tried=Tried(form, None, where, outcome, None, missing)))
        return
    size = _size(runs, form, where)
    found = Tried(form, None, where, Outcome.WORKS, size, 0)
    asked = runs.wanted.constraints
    for each in choices(found, KvFormat.AUTO, size, runs.demand, asked, runs.objective, runs.presets):
        if isinstance(each, Choice):
            skyline.add(each)
            remember(fates, form, Fate(best=each))
        else:
            remember(fates, form, Fate(tried=found, broken=each))


def _size(runs: Runs, form: Form, where: Placement) -> Sized:
    """One run; its rate, where the speed room gives one, in training tokens per second."""
    found = runs.pace(runs.trials.job, form.card, where) if runs.pace is not None else None
    if found is None:
        return Sized(1, 1.0, None, None, 1)
    served = Served(
        batch=1.0,
        ttft_seconds=0.0,
        tpot_seconds=0.0,
        requests_per_second=found.tokens_per_second,
        low_ratio=found.low_ratio,
        high_ratio=found.high_ratio,
        basis=found.basis,
    )
    return Sized(1, 1.0, served, served, 1)
