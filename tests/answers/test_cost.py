"""From a request's names to the answer's words: cards, offers, summary, assumptions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.cost import Cost, CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language

TODAY = dt.date(2026, 11, 30)


def _body(**option: Any) -> dict[str, Any]:
    shared = {
        "label": "mine",
        "price": {"kind": "caller", "usd_per_hour": 2.0},
        "throughput": {"kind": "measured", "units_per_second": 100},
        "charges": {"billing_increment_seconds": 1},
    }
    return {"options": [shared | option], "work": {"kind": "job", "unit": "image", "units": 360_000}}


def _answer(body: dict[str, Any], language: Language = Language.EN) -> Cost:
    return cost(bundled(), msgspec.convert(body, CostRequest), language, TODAY)


def test_cards_go_by_any_of_their_names() -> None:
    """What people call a card becomes its id."""
    assert _answer(_body(card="RTX 4090")).options[0].card == "rtx-4090"


@pytest.mark.parametrize(
    ("option", "pointer", "code"),
    [
        ({"card": "H100"}, "/options/0/card", "ambiguous_card"),
        ({"card": "geforce banana"}, "/options/0/card", "unknown_card"),
        (
            {"price": {"kind": "offer", "offer": "lambda/gpu-8x-h100-sxm5/any/standrad"}},
            "/options/0/price/offer",
            "unknown_offer",
        ),
    ],
)
def test_names_that_are_not_known_are_refused_with_what_could_be_meant(
    option: dict[str, Any], pointer: str, code: str
) -> None:
    """A family of cards, no card at all, a misspelt offer."""
    with pytest.raises(Invalid) as refused:
        _answer(_body(**option))
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code.value) == (pointer, code)
    if code != "unknown_card":
        assert fault.suggestions


def test_every_offer_with_a_price_can_be_costed() -> None:
    """Whatever the catalogue holds and is valid today gives a bill or names what is missing."""
    world, codes = bundled(), set[str]()
    for offer in world.offers.values():
        try:
            answer = _answer(_body(price={"kind": "offer", "offer": offer.id}, charges={}))
        except Invalid as invalid:
            codes.update(fault.code.value for fault in invalid.faults)
            continue
        costed = answer.options[0]
        assert costed.total.low_usd <= costed.total.expected_usd <= costed.total.high_usd
        assert costed.price.source == offer.source
    assert codes <= {"offer_expired", "offer_not_yet_valid", "offer_without_price", "only_spot"}


@pytest.mark.parametrize(
    ("language", "summary"),
    [
        (Language.EN, "mine does 360,000 images for $2.00, or $0.0056 per thousand images."),
        (Language.ES, "mine hace 360.000 imágenes por 2,00 US$, es decir, 0,0056 US$ por mil imágenes."),
        (Language.ZH, "mine 完成 360,000 个图像，费用 US$2.00，即每千个图像 US$0.0056。"),
    ],
)
def test_the_summary_gives_the_figures_in_three_languages(language: Language, summary: str) -> None:
    """An hour at two dollars makes 360,000 images."""
    assert _answer(_body(), language).summary.replace("\u00a0", " ") == summary


def test_the_summary_compares() -> None:
    """The best, by how much, and who would win by the hour."""
    body = _body()
    fast = body["options"][0] | {
        "label": "fast",
        "price": {"kind": "caller", "usd_per_hour": 4.0},
        "throughput": {"kind": "measured", "units_per_second": 300},
    }
    answer = _answer(body | {"options": [*body["options"], fast]})
    assert answer.summary == (
        "fast does 360,000 images for $1.33, or $0.0037 per thousand images. It is the cheapest of 2 options; mine "
        "costs 50% more. By the hour, mine would be the cheapest."
    )
    assert answer.notices[0].message.startswith("The cheapest by the hour is mine")


def test_a_month_of_a_service_in_words() -> None:
    """A range is said where there is one."""
    work = {"kind": "service", "unit": "output_token", "utilisation": 0.5}
    price = {"kind": "offer", "offer": "lambda/gpu-8x-h100-sxm5/any/standard"}
    summary = _answer(_body(price=price) | {"work": work}).summary
    assert summary.startswith("mine costs $23,301.60 a month (between $18,526.07 and $29,308.14), or ")


@pytest.mark.parametrize("language", Language)
def test_nothing_is_left_without_words(language: Language) -> None:
    """Every notice, assumption and question of an answer that has them all."""
    option = {
        "label": "all",
        "price": {"kind": "offer", "offer": "lambda/gpu-8x-h100-sxm5/any/standard"},
        "count": 3,
        "throughput": {"kind": "measured", "units_per_second": 100},
        "startup": {"pull_gb": 10},
    }
    own = {"label": "own", "price": {"kind": "purchase"}, "card": "h100-sxm-80", "throughput": option["throughput"]}
    rented = {"label": "rented", "price": {"kind": "caller", "usd_per_hour": 1}, "throughput": option["throughput"]}
    body = {
        "options": [option, own, rented],
        "work": {"kind": "job", "unit": "item", "units": 1000, "deadline_hours": 0.001},
        "data": {"out_gb": 10, "stored_gb": 10},
        "purchase": {},
    }
    answer = _answer(body, language)
    said = [notice.message for option_ in answer.options for notice in option_.notices]
    said += [notice.message for notice in answer.notices] + [one.message for one in answer.assumptions]
    assert len(said) > 15
    assert all(said)
    assert answer.ask_next is not None
    assert answer.ask_next.message


def test_the_day_of_the_prices_is_echoed() -> None:
    """Today where none is named; and a price is as old as the day asked about."""
    today = _answer(_body())
    assert today.priced_on == TODAY
    assert "/priced_on" in [assumption.pointer for assumption in today.assumptions]
    price = {"kind": "offer", "offer": "lambda/gpu-8x-h100-sxm5/any/standard"}
    then = _answer(_body(price=price) | {"priced_on": "2026-09-21"})
    assert then.options[0].price.age_days == 1
    assert "prices_old" not in [notice.code.value for notice in then.options[0].notices]


def test_nothing_costs_a_share_more_than_what_is_free() -> None:
    """A free endpoint is the cheapest; the next is said in dollars."""
    api = {"label": "api", "price": {"kind": "token_api", "usd_per_million_input": 0, "usd_per_million_output": 0}}
    body = {
        "options": [*_body()["options"], api],
        "work": {"kind": "job", "unit": "token", "units": 360_000, "prompt_tokens": 10, "output_tokens": 10},
    }
    assert "It is the cheapest of 2 options; mine costs $2.00." in _answer(body).summary
