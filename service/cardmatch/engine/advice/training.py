"""The public call of POST /recommend for training: which machine, in how many hours, for how much."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.advice.answer import Recommended, RecommendedOption, Requires
from cardmatch.engine.advice.asking import Ways
from cardmatch.engine.advice.bill import Ledger, gpus_of, option_of, priced
from cardmatch.engine.advice.candidates import Form
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.conditions import conditions
from cardmatch.engine.advice.counsel import Ground, counsel
from cardmatch.engine.advice.describe import LABEL_LENGTH, offer_used, option_id
from cardmatch.engine.advice.excluded import Judge
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Market, market
from cardmatch.engine.advice.own import own_offers
from cardmatch.engine.advice.pace import Paces, SpeedBand
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import JobOfWork, Objective, OffersMode, Wanted
from cardmatch.engine.advice.reasked import Sold, by_card
from cardmatch.engine.advice.recommend import Shelf, Subject, left_out, possible
from cardmatch.engine.advice.remarks import cautions, reasons
from cardmatch.engine.advice.search import Found
from cardmatch.engine.advice.training_again import RunsAgain
from cardmatch.engine.advice.training_command import command, unsaid
from cardmatch.engine.advice.training_plan import plan
from cardmatch.engine.advice.training_search import Runs, estimated, search_runs
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.estimate import notices_of
from cardmatch.engine.memory.training.peak import factors
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.trials import trials
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.work import Job
from cardmatch.engine.speed.throughput import Throughput, WorkUnit
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Question, QuestionCode

_JOB = "/job"
_MOST_TOKENS = 1e18
"""As many units as /cost reckons with."""

_HOST_RAM_SHARE = 2


class _Bench(NamedTuple):
    """What the options of one answer are made from."""

    runs: Runs
    subject: Subject
    workload: dict[str, Any]
    ledger: Ledger
    shelf: Shelf
    considered: int


def recommend_training(
    subject: Subject,
    workload: Training,
    wanted: Wanted,
    shelf: Shelf,
    calibration: TrainingCalibration,
    presets: Presets,
    *,
    priced_on: dt.date,
    paces: Paces,
) -> Recommended:
    """The machines for *workload*, best first. Raises Invalid with pointers into the request."""
    if wanted.load is not None:
        raise refusal(FaultCode.CONFLICTS_WITH, "/load", field="workload")
    tokens = _within_reach(train_tokens(wanted.job, workload), wanted)
    job, assumptions = settle(workload, subject.architecture, subject.checkpoint, subject.spread)
    objective, noted = _objective(wanted, tokens)
    shared = trials(job, factors(calibration), calibration)
    runs = Runs(shared, _demand(wanted, tokens), wanted, objective, presets, paces.training)
    own = own_offers(wanted.offers, priced_on)
    offers = dict(own.offers) if wanted.offers_mode is OffersMode.ONLY else {**shelf.offers, **own.offers}
    on_sale = market(offers.values(), own.stock, shelf.providers, conditions(wanted, shelf.countries), priced_on)
    found = search_runs(runs, shelf.cards, on_sale)
    costs = shelf.ownership_costs
    ledger = Ledger(offers, shelf.providers, shelf.ownership, costs, priced_on, presets.hours_per_month)
    bench = _Bench(runs, subject, msgspec.to_builtins(workload), ledger, shelf, found.considered)
    options = tuple(_option(bench, choice, rank) for rank, choice in enumerate(found.options, 1))
    ways = _ways(runs, shelf, {**shelf.offers, **own.offers}, priced_on, on_sale)
    rows, nearest = left_out(found, _judge(bench, found, on_sale, ways))
    return Recommended(
        options=options,
        not_chosen=rows,
        unpriced_matches=possible(on_sale.unpriced, wanted, shelf.cards),
        unknown_matches=possible(on_sale.unknown, wanted, shelf.cards),
        nearest=None if options else nearest,
        advice=counsel(Ground(options, found.options, _freely(bench, on_sale), wanted, runs.demand, presets)),
        verification=plan(options[0]) if options else None,
        assumptions=(*assumptions, *noted),
        ask_next=None if tokens else Question(code=QuestionCode.TRAIN_TOKENS, pointer=_JOB),
        notices=notices_of(job),
        considered=found.considered,
    )


def _judge(bench: _Bench, found: Found, on_sale: Market, ways: Ways) -> Judge:
    runs, ledger = bench.runs, bench.ledger
    return Judge(
        runs.wanted,
        on_sale,
        bench.shelf.providers,
        "transformers",
        found.options[0] if found.options else None,
        ledger.hours_per_month,
        ledger.priced_on,
        ways,
        None,
        found.options,
        runs.objective,
    )


def _ways(runs: Runs, shelf: Shelf, offers: Mapping[str, Offer], priced_on: dt.date, on_sale: Market) -> Ways:
    sold = Sold(shelf.cards, by_card(offers.values()), shelf.providers, shelf.countries, priced_on, on_sale)
    return RunsAgain(runs, sold).ways


def train_tokens(job: JobOfWork | None, workload: Training) -> float | None:
    """Tokens to train on: as stated, or of examples and epochs. Raises Invalid where the job is no training."""
    data = workload.data
    if job is None:
        return None if data is None else data.examples * data.mean_tokens_per_example * data.epochs
    for field in ("images", "items"):
        if getattr(job, field) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"{_JOB}/{field}", field="workload")
    if data is not None and (job.train_tokens or job.examples):
        raise refusal(FaultCode.CONFLICTS_WITH, "/workload/data", field="job")
    if job.train_tokens is not None and job.examples is not None:
        raise refusal(FaultCode.EXACTLY_ONE_OF, _JOB, fields=["train_tokens", "examples"])
    if job.examples is None:
        return job.train_tokens or train_tokens(None, workload)
    if job.mean_tokens_per_example is None:
        raise refusal(FaultCode.NEEDS_FIELD, f"{_JOB}/examples", field="mean_tokens_per_example")
    return job.examples * job.mean_tokens_per_example * (job.epochs or 1.0)


def _within_reach(tokens: float | None, wanted: Wanted) -> float | None:
    """At least one token, at most what a bill can count."""
    if tokens is not None and tokens > _MOST_TOKENS:
        raise refusal(FaultCode.COST_OUT_OF_REACH, _JOB if wanted.job else "/workload/data")
    return None if tokens is None else max(tokens, 1.0)


def _demand(wanted: Wanted, tokens: float | None) -> Demand:
    """One run of *tokens* as a demand; lengths and latencies are not asked of training."""
    deadline = wanted.job.deadline_hours if wanted.job else None
    return Demand(1, 1, 1, None, None, None, None, None, None, tokens, deadline, 1, stated=tokens is not None)


def _objective(wanted: Wanted, tokens: float | None) -> tuple[Objective, tuple[Assumption, ...]]:
    if wanted.objective is not None:
        return wanted.objective, ()
    found = Objective.COST_PER_UNIT if tokens else Objective.COST_PER_HOUR
    return found, (Assumption(pointer="/objective", value=found.value),)


def _freely(bench: _Bench, on_sale: Market) -> Choice | None:
    """The best with the same conditions, but any card."""
    wanted = bench.runs.wanted
    if not wanted.constraints.cards:
        return None
    anything = msgspec.structs.replace(wanted.constraints, cards=())
    runs = bench.runs._replace(
        objective=Objective.COST_PER_UNIT, wanted=msgspec.structs.replace(wanted, constraints=anything, limit=1)
    )
    found = search_runs(runs, bench.shelf.cards, on_sale).options
    return found[0] if found else None


def _option(bench: _Bench, choice: Choice, rank: int) -> RecommendedOption:
    runs, form = bench.runs, choice.tried.form
    memory, throughput = estimated(runs, form), _throughput(choice)
    label = f"{rank}: {form.card.id} × {form.gpus}, {choice.lot.offer.provider}"[:LABEL_LENGTH]
    question = bill = None
    if throughput is not None and runs.demand.items is not None:
        work = Job(unit=WorkUnit.TRAIN_TOKEN, units=runs.demand.items, deadline_hours=runs.demand.deadline_hours)
        asked = option_of(choice, label, bench.subject.named.reference, bench.workload)
        question = CostQuestion(options=(asked,), work=work)
        bill = priced(question, throughput, bench.ledger)
    month = choice.usd_per_hour * bench.ledger.hours_per_month
    option = RecommendedOption(
        id=option_id(choice),
        rank=rank,
        card=form.card.id,
        count=gpus_of(choice),
        layout=memory.layout,
        mig=None,
        link=form.link,
        copies=1,
        instances_per_machine=1,
        machines=choice.machines,
        unused_gpus=choice.machines * choice.lot.offer.gpu_count - gpus_of(choice),
        weights=runs.trials.job.checkpoint.format,
        kv_cache=None,
        verdict=memory.verdict,
        bound_by=memory.bound_by.value,
        per_gpu=None,
        training_per_gpu=memory.per_gpu,
        budget_bytes=memory.budget_bytes,
        headroom_bytes=memory.headroom_bytes,
        max_concurrency=None,
        speed=_speed(throughput),
        offer=offer_used(choice, bench.ledger),
        usd_per_hour=choice.usd_per_hour,
        usd_per_month=month,
        usd_per_instance_per_month=month,
        cost=bill,
        cost_request=question,
        command=_command(bench, form),
        requires=_requires(choice, memory.host.ram_bytes, bench),
        reasons=(),
        cautions=(),
    )
    return _remarked(bench, option, choice)


def _command(bench: _Bench, form: Form) -> str:
    runs = bench.runs
    named, job, epochs = bench.subject.named.command_name, runs.trials.job, _epochs(runs)
    return command(named, job, form.gpus, form.nodes, tokens=runs.demand.items, epochs=epochs)


def _epochs(runs: Runs) -> float | None:
    """Passes over the data, where the request counts examples."""
    job, data = runs.wanted.job, runs.trials.job.workload.data
    if job is not None and job.examples is not None:
        return job.epochs or 1.0
    return None if data is None else data.epochs


def _remarked(bench: _Bench, option: RecommendedOption, choice: Choice) -> RecommendedOption:
    runs, constraints = bench.runs, bench.runs.wanted.constraints
    return msgspec.structs.replace(
        option,
        reasons=reasons(option, choice, runs.objective, bench.considered),
        cautions=(
            *unsaid(runs.trials.job, choice.tried.form.gpus),
            *cautions(option, choice, constraints, runs.presets, bench.shelf.countries),
        ),
    )


def _throughput(choice: Choice) -> Throughput | None:
    served = choice.tried.size.most if choice.tried.size else None
    if served is None:
        return None
    rate = served.requests_per_second
    return Throughput(
        unit=WorkUnit.TRAIN_TOKEN,
        low_units_per_second=rate * served.low_ratio,
        expected_units_per_second=rate,
        high_units_per_second=rate * served.high_ratio,
        basis=served.basis,
    )


def _speed(found: Throughput | None) -> SpeedBand | None:
    if found is None:
        return None
    return SpeedBand(
        unit=found.unit.value,
        low_units_per_second=found.low_units_per_second,
        expected_units_per_second=found.expected_units_per_second,
        high_units_per_second=found.high_units_per_second,
        ttft_seconds=None,
        tpot_seconds=None,
        request_seconds=None,
        capacity_units_per_second=found.expected_units_per_second,
        requests_at_once=None,
        basis=found.basis,
    )


def _requires(choice: Choice, host_bytes: int, bench: _Bench) -> Requires:
    """Weights go through RAM on their way in; the disk holds them, and as much again of checkpoints."""
    form = choice.tried.form
    weights = sum(part.bytes for part in bench.runs.trials.job.parts)
    return Requires(
        machines=form.nodes,
        gpu=form.card.name,
        gpus=form.gpus // form.nodes,
        compute_capability=form.card.compute_capability,
        host_ram_bytes=max(host_bytes, _HOST_RAM_SHARE * weights),
        disk_bytes=_HOST_RAM_SHARE * weights,
        kubernetes_resource={f"{form.card.vendor.value}.com/gpu": form.gpus // form.nodes},
    )
