"""The stories of people to whom it matters where a machine stands, who rents it out, and what its price is worth."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import Invalid
from tests.answers.stories.asking import recommended

ONE_USER = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1}
MONERO = {
    "identity_check": "none",
    "payment_methods": ["monero"],
    "exclude_server_countries": ["fourteen_eyes"],
}


def test_an_offer_that_does_not_say_where_it_stands_meets_no_country() -> None:
    """A provider's list that was gathered from other offers, or is not sure, makes it a match that is not known."""
    constraints = {"server_countries": ["US"], "cards": ["h200-sxm"]}
    answer = recommended(model="7B", load=ONE_USER, constraints=constraints, limit=50)
    open_ones = {row.provider for row in answer.unknown_matches if "server_countries" in row.unknown}
    assert {"packet-ai", "coreweave"} <= open_ones
    for option in answer.options:
        provider = bundled().providers[option.offer.provider]
        known = option.offer.server_country or provider.server_countries
        assert known in ("US", ("US",))
        assert provider.sources["server_countries"] != "offers rows" or option.offer.server_country


def test_who_meets_everything_but_publishes_no_price_is_named() -> None:
    """Monero, no identity check, outside the Fourteen Eyes: one provider, by the guide's word; and what to do there."""
    answer = recommended(model="7B", constraints=MONERO)
    assert not answer.options
    assert "15 offers of chainvps meet every condition" in answer.summary
    assert "buyers' guide" in answer.summary
    assert answer.nearest is not None
    assert answer.nearest.reason.code == "offers_without_price"
    assert "keep_checkpoints_safe" in [each.code for each in answer.advice]


@pytest.mark.parametrize("whose", ["server", "company"])
def test_countries_that_are_wanted_and_refused_at_once_leave_nothing_open(whose: str) -> None:
    """No fact that might turn out right would help, and the answer does not say so."""
    constraints = {f"{whose}_countries": ["eu"], f"exclude_{whose}_countries": ["eu", "US"]}
    answer = recommended(model="7B", constraints=constraints)
    assert (answer.options, answer.unpriced_matches, answer.unknown_matches) == ((), (), ())
    assert "might" not in answer.summary


@pytest.mark.parametrize(
    ("said", "meant"),
    [("EU", "eu"), ("Germany", "DE"), ("germny", "DE"), ("uk", "GB"), ("de", "DE"), ("Fourteen_Eyes", "fourteen_eyes")],
)
def test_a_country_said_otherwise_is_refused_with_what_was_meant(said: str, meant: str) -> None:
    """Names, other letters and slips: the code or the group stands first among the suggestions."""
    with pytest.raises(Invalid) as caught:
        recommended(model="7B", constraints={"exclude_server_countries": ["US", said]})
    (fault,) = caught.value.faults
    assert (fault.code, fault.pointer) == ("unknown_country", "/constraints/exclude_server_countries/1")
    assert fault.suggestions[0] == meant


def test_a_price_that_may_not_be_had_is_told_beside_the_best_list_price() -> None:
    """The kind and the age of the first option's price, and the first option shown that has a list price."""
    answer = recommended(
        model="13B", workload={"kind": "training", "method": "qlora"}, job={"train_tokens": 60_000_000}, limit=50
    )
    first = answer.options[0].offer
    assert first.price_kind == "market_low"
    assert f"the lowest that a market showed {(answer.priced_on - first.as_of).days} days ago" in answer.summary
    listed = next(option.offer for option in answer.options if option.offer.price_kind == "list")
    assert f"at {listed.provider}: it takes" in answer.summary


def test_a_list_price_needs_no_such_words() -> None:
    """Its kind is what everybody expects."""
    answer = recommended(model="7B", load=ONE_USER)
    assert answer.options[0].offer.price_kind == "list"
    assert "list price" not in answer.summary
    assert "may not be had" not in answer.summary
