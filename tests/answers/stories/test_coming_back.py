"""Every card left out says what brings it back; whoever sets that finds the card among the options."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from cardmatch.answers.recommend import Recommendation
from cardmatch.catalogue.world import bundled
from tests.answers.stories.asking import recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
REQUESTS: dict[str, dict[str, Any]] = {
    "a chatbot": {"model": "llama 3.1 8b", "load": {**LENGTHS, "concurrency": 1}},
    "no load": {"model": "llama 3.1 8b"},
    "quick": {"model": "llama 3.1 8b", "load": {**LENGTHS, "concurrency": 32, "min_tokens_per_second_per_user": 80}},
    "queued": {"model": "qwen3 32b", "load": {**LENGTHS, "requests_per_second": 2, "p95_latency_seconds": 12}},
    "one card": {"model": "7B", "load": {**LENGTHS, "concurrency": 4}, "constraints": {"cards": ["H100"]}},
    "not these": {"model": "7B", "constraints": {"exclude_cards": ["rtx-4090", "rtx-a4000"], "max_gpus": 1}},
    "70b": {"model": "llama 3.1 70b", "load": {"prompt_tokens": 7500, "output_tokens": 500, "concurrency": 32}},
    "one gpu": {"model": "llama 3.1 70b", "allow": {"multi_gpu": False, "weights": ["bf16"]}},
    "405b": {"model": "llama 3.1 405b", "load": {**LENGTHS, "concurrency": 8}},
    "contradiction": {"model": "llama 3.1 405b", "constraints": {"max_usd_per_hour": 0.5, "ecc": True}},
    "places": {
        "model": "7B",
        "load": {**LENGTHS, "concurrency": 1},
        "constraints": {"server_countries": ["IS", "CH"], "exclude_company_countries": ["five_eyes"]},
    },
    "privacy": {
        "model": "7B",
        "constraints": {
            "identity_check": "none",
            "payment_methods": ["monero"],
            "exclude_server_countries": ["fourteen_eyes"],
        },
    },
    "slices": {"model": "7B", "instances": 6, "constraints": {"isolation": "mig"}, "allow": {"weights": ["awq_int4"]}},
    "job": {
        "model": "llama 3.1 8b",
        "load": LENGTHS,
        "job": {"items": 2_000_000, "deadline_hours": 4},
        "constraints": {"max_usd_total": 5, "max_instances": 2},
    },
    "training": {
        "model": "llama 3.1 8b",
        "workload": {"kind": "training", "method": "full"},
        "job": {"train_tokens": 1e8, "deadline_hours": 24},
        "constraints": {"max_gpus": 1, "server_countries": ["eu"], "max_usd_total": 50},
    },
    "late": {
        "model": "13B",
        "workload": {"kind": "training", "method": "qlora"},
        "job": {"train_tokens": 60_000_000, "deadline_hours": 2},
        "constraints": {"exclude_cards": ["rtx-4090"]},
    },
    "own alone": {
        "model": "llama 3.1 8b",
        "load": {**LENGTHS, "requests_per_second": 15},
        "offers_mode": "only",
        "offers": [{"sku": "rack", "card": "rtx-3090", "usd_per_hour": 0.06, "stock": 1}],
    },
    "own run": {
        "model": "7B",
        "workload": {"kind": "training", "method": "full"},
        "job": {"train_tokens": 1e9, "deadline_hours": 5},
        "offers_mode": "only",
        "offers": [{"sku": "rack", "card": "rtx-3090", "usd_per_hour": 0.06, "stock": 1}],
    },
    "startup": {"model": "13B", "profile": "startup", "constraints": {"max_gpus": 1}},
    "late pictures": {"model": "sdxl", "job": {"images": 50_000, "deadline_hours": 0.001}},
    "stated weights": {"model": "llama 3.1 70b", "workload": {"kind": "inference", "weights": "fp8"}},
}
NOBODY = {"no_offer_of_card", "no_own_offer_of_card", "offers_without_price", "engine_not_on_card"}
"""Nobody sells these cards at a known price, or no engine runs on them: no setting of a request changes that."""


def with_settings(body: dict[str, Any], row: Any) -> dict[str, Any]:
    """*body* with every change of *row*, as a pointer is followed: what is not there is an empty object."""
    changed: dict[str, Any] = copy.deepcopy(body)
    for each in row.changes:
        *path, last = each.pointer.split("/")[1:]
        place: Any = changed
        for key in path:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        if each.value is None:
            place.pop(last, None)
        else:
            place[last] = each.value
    return changed


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_card_comes_back_by_the_changes_that_it_names(body: dict[str, Any]) -> None:
    """One reason a card; all its changes together make it an option; `change` is the first of them."""
    answer = recommended(**body)
    assert len({row.card for row in answer.not_chosen}) == len(answer.not_chosen)
    for row in _some(answer):
        again = recommended(**with_settings(body, row))
        assert row.card in {option.card for option in again.options}, (row.card, row.reason.code, row.changes)
        assert len({each.pointer for each in row.changes}) == len(row.changes)
        assert row.change is not None
        assert row.change.pointer.startswith(row.changes[0].pointer)


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS.keys())
def test_few_cards_have_no_way_back(body: dict[str, Any]) -> None:
    """Only those that nobody sells at a known price, that no engine runs on, or that are too small for anything."""
    answer, easy = recommended(**body), recommended(**REQUESTS["a chatbot"])
    nowhere = {row.card for row in easy.not_chosen if not row.changes}
    assert {row.reason.code.value for row in easy.not_chosen if row.card in nowhere} <= NOBODY
    trains = body.get("workload", {}).get("kind") == "training"
    elsewhere = {"trains_without_bf16", *(NOBODY if trains else ())}
    lost = [
        row
        for row in answer.not_chosen
        if not row.changes and row.card not in nowhere and row.reason.code.value not in elsewhere
        if not _too_small(row.card, answer.model.parameters or 0)
    ]
    assert len(lost) <= 0.1 * len(answer.not_chosen), [(row.card, row.reason.code.value) for row in lost]
    if not answer.options:
        assert answer.nearest is not None
        assert answer.nearest.changes


def _too_small(card: str, parameters: int) -> bool:
    """Whether eight of the largest machines of *card* hold less than four bits a parameter."""
    gpus = max((offer.gpu_count for offer in bundled().offers_by_card.get(card, ())), default=0)
    return 8 * gpus * bundled().cards[card].memory_gb * 1e9 < parameters / 2


def _some(answer: Recommendation) -> list[Any]:
    """Of each reason the first, the middle and the last card: all of them take too long."""
    found: dict[str, list[Any]] = {}
    for row in answer.not_chosen:
        if row.changes:
            found.setdefault(f"{row.reason.code} {[each.pointer for each in row.changes]}", []).append(row)
    return [
        row for rows in found.values() for row in {id(r): r for r in (rows[0], rows[len(rows) // 2], rows[-1])}.values()
    ]
