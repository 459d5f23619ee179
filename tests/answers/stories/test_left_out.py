"""The reason that a card is left out for is the one that keeps it out."""

from __future__ import annotations

from typing import Any

from cardmatch.answers.recommend import Recommendation
from tests.answers.stories.asking import recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
LOAD = {**LENGTHS, "concurrency": 2}
HELD = {"1g.10gb": 7, "1g.18gb": 7, "1g.23gb": 7, "1g.24gb": 4, "2g.48gb": 2, "2g.20gb": 3, "2g.35gb": 3, "3g.40gb": 2}
RACK = {"sku": "rack", "card": "rtx-3090", "usd_per_hour": 0.06, "stock": 1}


def _rows(answer: Recommendation, code: str) -> list[Any]:
    return [row for row in answer.not_chosen if row.reason.code.value == code]


def test_a_card_that_is_slower_and_cheaper_is_not_said_to_be_beaten() -> None:
    """Nothing that is shown costs as little as these: they rank lower by latency."""
    load = {**LENGTHS, "requests_per_second": 5}
    answer = recommended(model="llama 3.1 8b", load=load, objective="latency", limit=50)
    cheapest = min(option.usd_per_hour for option in answer.options)
    assert not _rows(answer, "card_beaten")
    lower = {row.card: row.reason.message for row in _rows(answer, "card_ranks_lower")}
    assert "latency" in (lower["rtx-4090"] or "")
    alone = recommended(model="llama 3.1 8b", load=load, objective="latency", constraints={"cards": ["rtx-4090"]})
    assert min(option.usd_per_hour for option in alone.options) < cheapest


def test_own_machines_alone_say_nothing_of_the_catalogue() -> None:
    """A card that others sell comes back when their offers count too."""
    answer = recommended(
        model="llama 3.1 8b", load={**LENGTHS, "concurrency": 2}, offers_mode="only", offers=[RACK], language="en"
    )
    assert not _rows(answer, "no_offer_of_card")
    (row,) = [row for row in _rows(answer, "no_own_offer_of_card") if row.card == "h100-sxm-80"]
    assert [(each.pointer, each.value) for each in row.changes] == [
        ("/offers_mode", "merge"),
        ("/constraints/cards", ["h100-sxm-80"]),
    ]


def test_too_few_own_machines_say_how_many_it_takes() -> None:
    """With that many the card is an option, with one less it is not."""
    asked: dict[str, Any] = {
        "model": "llama 3.1 8b",
        "load": {**LENGTHS, "requests_per_second": 15},
        "offers_mode": "only",
    }
    (row,) = [row for row in recommended(**asked, offers=[RACK]).not_chosen if row.card == "rtx-3090"]
    assert row.changes[0].pointer == "/offers/0/stock"
    stock = row.changes[0].value
    assert isinstance(stock, int)
    assert recommended(**asked, offers=[{**RACK, "stock": stock}]).options
    assert not recommended(**asked, offers=[{**RACK, "stock": stock - 1}]).options


def test_no_change_points_at_an_offer_that_is_not_there() -> None:
    """A request without offers is not told to enlarge one."""
    answer = recommended(model="llama 3.1 405b", load={**LENGTHS, "concurrency": 8})
    pointers = [row.change.pointer for row in answer.not_chosen if row.change is not None]
    assert not [pointer for pointer in pointers if pointer.startswith("/offers/")]


def test_a_smaller_slice_that_was_tight_is_named() -> None:
    """Seven slices of 1g.10gb would take one card, which the option says beside its two."""
    answer = recommended(
        model="7B",
        instances=6,
        load=LOAD,
        allow={"weights": ["awq_int4"]},
        constraints={"isolation": "mig", "cards": ["a100-sxm-80"]},
    )
    (note,) = [each for each in answer.options[0].cautions if each.code.value == "smaller_slice_tight"]
    assert answer.options[0].mig == "2g.20gb"
    assert note.params["profile"] == "1g.10gb"


def test_slices_that_stay_empty_are_counted() -> None:
    """What NVIDIA's MIG user guide lets a card hold, on every card that is paid for, less one for each tenant."""
    answer = recommended(
        model="7B", instances=6, load=LOAD, allow={"weights": ["awq_int4"]}, constraints={"isolation": "mig"}, limit=9
    )
    empty = {}
    for option in answer.options:
        assert option.mig is not None
        cards = option.machines * option.offer.gpu_count
        empty[option.id] = HELD[option.mig] * cards - option.copies
        notes = [each for each in option.cautions if each.code.value == "unused_slices"]
        assert [note.params["unused"] for note in notes] == [empty[option.id]] * bool(empty[option.id]), option.id
    assert any(empty.values())
