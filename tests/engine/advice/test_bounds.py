"""Bounds lose nothing: what the search shows is what a search of everything would show."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.question import Allow, Constraints, JobOfWork, Load, Objective, Wanted
from cardmatch.engine.advice.rank import Skyline
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.money.spot import Spot
from tests.engine.advice.searching import everything, real_paces

SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
LOADS = st.sampled_from(
    [
        {"concurrency": 1},
        {"concurrency": 500, "ttft_seconds": 3.0},
        {"concurrency": 2000},
        {"requests_per_second": 20.0},
        {"requests_per_second": 5.0, "p95_latency_seconds": 8.0},
        {"requests_per_second": 40.0, "ttft_seconds": 1.0},
        {"min_tokens_per_second_per_user": 60.0, "concurrency": 64},
    ]
)
JOBS = st.sampled_from([JobOfWork(items=10_000), JobOfWork(items=5_000_000, deadline_hours=12)])
CARDS = st.sets(st.sampled_from(sorted(bundled().offers_by_card)), min_size=1, max_size=10)
OBJECTIVES = st.sampled_from(list(Objective))


def shown(choices: list[Choice], limit: int) -> tuple[Choice, ...]:
    """The options that all *choices* leave, put together in the order of their keys."""
    skyline = Skyline(limit)
    for choice in sorted(choices, key=lambda each: each.key):
        skyline.add(choice)
    return skyline.options()


def check(wanted: Wanted, kept: set[str], workload: Inference | None = None, model: str = "llama 3.1 8b") -> None:
    """The same options, in the same order, with the same figures."""
    found, whole = everything(wanted, real_paces(), frozenset(kept), workload, model)
    expected = [(choice.key, choice.usd_per_hour) for choice in shown(whole, wanted.limit)]
    assert [(choice.key, choice.usd_per_hour) for choice in found.options] == expected
    if whole:
        assert found.options[0].axes.objective == min(choice.axes.objective for choice in whole)


@SLOW
@given(load=LOADS, objective=OBJECTIVES, kept=CARDS, limit=st.integers(1, 5))
def test_a_load_is_searched_as_if_everything_were_tried(
    load: dict[str, float], objective: Objective, kept: set[str], limit: int
) -> None:
    """Requests at once and at a rate, with and without targets, whatever counts as best."""
    given_load = Load(**LENGTHS, **load)  # type: ignore[arg-type]
    check(Wanted(load=given_load, objective=objective, limit=limit), kept)


@SLOW
@given(load=LOADS, objective=OBJECTIVES, kept=CARDS, layers=st.booleans())
def test_mixtures_and_layers_in_a_row_are_searched_as_if_everything_were_tried(
    load: dict[str, float], objective: Objective, kept: set[str], *, layers: bool
) -> None:
    """Experts, of which steps read more with every request; an engine that lays layers one after the other."""
    given_load = Load(**LENGTHS, **load)  # type: ignore[arg-type]
    workload = Inference(engine=LlamaCpp()) if layers else Inference()
    check(Wanted(load=given_load, objective=objective), kept, workload, "qwen3 30b a3b")


@SLOW
@given(job=JOBS, objective=OBJECTIVES, kept=CARDS, spot=st.booleans())
def test_a_job_is_searched_as_if_everything_were_tried(
    job: JobOfWork, objective: Objective, kept: set[str], *, spot: bool
) -> None:
    """Offline work with and without a deadline, on interruptible machines too."""
    how = Spot(interruptions_per_hour=0.1, checkpoint_seconds=30, restart_seconds=300) if spot else None
    allow, lengths = Allow(spot=spot), Load(**LENGTHS)
    check(Wanted(load=lengths, job=job, allow=allow, spot=how, objective=objective), kept)


@SLOW
@given(load=LOADS, kept=CARDS, nodes=st.integers(2, 4), objective=OBJECTIVES)
def test_several_machines_a_copy_are_searched_as_if_everything_were_tried(
    load: dict[str, float], kept: set[str], nodes: int, objective: Objective
) -> None:
    """Copies over two to four machines beside those on one."""
    given_load = Load(**LENGTHS, **load)  # type: ignore[arg-type]
    check(Wanted(load=given_load, objective=objective, nodes=nodes), kept)


@pytest.mark.parametrize("objective", [Objective.COST_PER_MONTH, Objective.COST_PER_UNIT, Objective.LATENCY])
def test_offloading_is_searched_as_if_everything_were_tried(objective: Objective) -> None:
    """Small cards that hold a part of the model only, beside those that hold all of it."""
    load = Load(**LENGTHS, concurrency=1, min_tokens_per_second_per_user=0.5)
    cards = {"rtx-3060-12", "rtx-3070", "rtx-3090", "t4", "rtx-a4000", "rtx-4090"}
    workload = Inference(engine=LlamaCpp())
    check(Wanted(load=load, objective=objective, allow=Allow(offload=True)), cards, workload)


@SLOW
@given(load=LOADS, objective=OBJECTIVES, kept=CARDS, most=st.floats(0.2, 60), limit=st.integers(1, 5))
def test_a_limit_is_searched_as_if_everything_were_tried(
    load: dict[str, float], objective: Objective, kept: set[str], most: float, limit: int
) -> None:
    """What surely costs more than is allowed need not be tried, and nothing else is left out."""
    given_load = Load(**LENGTHS, **load)  # type: ignore[arg-type]
    limits = Constraints(max_usd_per_hour=most)
    check(Wanted(load=given_load, objective=objective, constraints=limits, limit=limit), kept)
