"""The stories of people who embed, rank and transcribe: each asks as they would, and gets a right answer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language
from tests.answers.stories.asking import DAY, recommended, refused

ENCODE = {"kind": "encode"}


def test_embeddings_at_200_a_second_take_one_small_card() -> None:
    """A 0.6B encoder fills no large card: every option carries the rate with a fifth to spare."""
    answer = recommended(model="bge-m3", workload=ENCODE, load={"items_per_second": 200, "prompt_tokens": 256})
    assert answer.options
    for option in answer.options:
        assert option.speed is not None
        assert option.cost is not None
        assert option.speed.capacity_units_per_second * 0.8 >= 200 * 0.999
        assert option.encode_per_gpu is not None
    first = answer.options[0]
    assert first.copies <= 2
    assert first.usd_per_month < 500
    assert "per thousand items" in answer.summary


def test_what_is_published_in_32_bits_is_served_in_16() -> None:
    """The format that the search chose is named, with what it costs, and the command uses it."""
    answer = recommended(model="bge-m3", workload=ENCODE, load={"items_per_second": 200}, limit=1)
    first = answer.options[0]
    changed = {each.pointer: each.value for each in first.changes}
    assert changed["/workload/weights"] == first.weights == "fp16"
    assert "--dtype float16" in first.command
    assert f"--batch-size {changed['/workload/batch']}" in first.command
    assert "quantisation_costs_accuracy" in [each.code for each in first.cautions]


def test_the_question_to_post_to_cost_is_answered_alike() -> None:
    """`cost_request` goes to /cost as it is, and gives the same bill."""
    bodies: list[dict[str, Any]] = [
        {"model": "bge-m3", "workload": ENCODE, "load": {"items_per_second": 200, "prompt_tokens": 256}},
        {"model": "bge-m3", "workload": ENCODE, "job": {"items": 10_000_000, "deadline_hours": 6}},
        {
            "model": "whisper large v3",
            "workload": {**ENCODE, "task": "speech", "audio_seconds": 3600},
            "job": {"items": 100},
        },
    ]
    for body in bodies:
        first = recommended(**body, limit=1).options[0]
        assert first.cost is not None
        raw = msgspec.json.encode(first.cost_request)
        bill = cost(bundled(), msgspec.json.decode(raw, type=CostRequest), Language.EN, DAY).options[0]
        assert bill.total.expected_usd == pytest.approx(first.cost.total.expected_usd, rel=1e-6)


def test_ten_million_texts_end_in_time_even_at_the_slow_end() -> None:
    """A corpus in six hours: copies side by side."""
    answer = recommended(model="bge-m3", workload=ENCODE, job={"items": 10_000_000, "deadline_hours": 6})
    assert answer.options
    for option in answer.options:
        assert option.speed is not None
        assert 10_000_000 / option.speed.low_units_per_second <= 6.01 * 3600


def test_a_short_latency_takes_small_batches() -> None:
    """Within 30 ms batches are smaller than without, and capacity is lower."""
    load = {"items_per_second": 50, "prompt_tokens": 512}
    slow = recommended(model="bge-m3", workload=ENCODE, load=load, constraints={"cards": ["l4"]}, limit=1).options[0]
    quick = recommended(
        model="bge-m3",
        workload=ENCODE,
        load={**load, "p95_latency_seconds": 0.1},
        constraints={"cards": ["l4"]},
        limit=1,
    ).options[0]
    batches = [
        next(int(str(each.value)) for each in option.changes if each.pointer == "/workload/batch")
        for option in (slow, quick)
    ]
    assert batches[1] < batches[0]
    assert quick.copies >= slow.copies


def test_a_reranker_and_whisper_know_their_workloads() -> None:
    """Named alone, each is taken for what it is for."""
    for model, task in (("bge-reranker-v2-m3", None), ("whisper large v3", "speech")):
        answer = recommended(model=model, job={"items": 1000}, limit=1)
        question = answer.options[0].cost_request
        assert question is not None
        workload = msgspec.to_builtins(question)["options"][0]["throughput"]["workload"]
        assert workload["kind"] == "encode"
        assert workload.get("task", "rerank") == (task or "rerank")
        assert "/workload/kind" in [each.pointer for each in answer.assumptions]


def test_hours_of_speech_are_recordings() -> None:
    """Thousands of hours: longer recordings take longer, and cost more a piece."""
    prices = []
    for seconds in (600, 3600):
        workload = {**ENCODE, "task": "speech", "audio_seconds": seconds}
        first = recommended(model="whisper large v3", workload=workload, job={"items": 20_000}, limit=1).options[0]
        assert first.cost is not None
        prices.append(first.cost.usd_per_unit)
    assert prices[1] == pytest.approx(6 * prices[0], rel=0.1)


def test_without_a_load_the_answer_asks_for_it() -> None:
    """How many, then how long."""
    answer = recommended(model="bge-m3", workload=ENCODE, limit=1)
    assert answer.ask_next is not None
    assert answer.ask_next.code == "items"
    loaded = recommended(model="bge-m3", workload=ENCODE, load={"items_per_second": 5}, limit=1)
    assert loaded.ask_next is not None
    assert loaded.ask_next.code == "text_tokens"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"model": "bge-m3", "workload": ENCODE, "job": {"images": 5}}, "/job/images"),
        ({"model": "bge-m3", "workload": ENCODE, "job": {"deadline_hours": 5}}, "/job"),
        ({"model": "bge-m3", "workload": ENCODE, "load": {"images_per_hour": 5}}, "/load/images_per_hour"),
        (
            {"model": "bge-m3", "workload": ENCODE, "load": {"output_tokens": 5, "items_per_second": 5}},
            "/load/output_tokens",
        ),
        (
            {
                "model": "bge-m3",
                "workload": {**ENCODE, "sequence_tokens": 100},
                "load": {"prompt_tokens": 500, "items_per_second": 5},
            },
            "/load/prompt_tokens",
        ),
        ({"model": "bge-m3", "workload": {**ENCODE, "task": "speech"}}, "/workload/task"),
        ({"model": "sdxl", "workload": ENCODE}, "/model"),
        ({"model": "bge-m3", "workload": {"kind": "inference"}}, "/model"),
        ({"model": "bge-m3", "workload": ENCODE, "allow": {"kv_cache": ["bf16"]}}, "/allow/kv_cache"),
    ],
)
def test_what_does_not_go_with_encoders_is_refused_at_the_field(body: dict[str, Any], pointer: str) -> None:
    """Each contradiction by itself."""
    assert refused(**body) == [pointer]
