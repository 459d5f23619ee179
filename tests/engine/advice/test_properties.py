"""What holds of every recommendation, whatever is asked."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.pace import Paces
from cardmatch.engine.advice.question import Constraints, Load, Objective, OffersMode, OwnOffer, Wanted
from cardmatch.engine.advice.rank import beats
from cardmatch.engine.advice.recommend import Shelf
from cardmatch.engine.money.provider import IdentityCheck, PaymentMethod
from tests.engine.advice.asking import NO_SPEED, WITH_SPEED, asked
from tests.engine.advice.searching import everything, real_paces

COSTS = (Objective.COST_PER_HOUR, Objective.COST_PER_MONTH)
LOADS = st.builds(
    Load,
    prompt_tokens=st.sampled_from([100, 1000, 4000]),
    output_tokens=st.sampled_from([50, 300, 1000]),
    concurrency=st.sampled_from([1, 8, 64, 500]),
)
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(load=LOADS, objective=st.sampled_from(COSTS), paces=st.sampled_from([NO_SPEED, WITH_SPEED]))
def test_no_option_is_beaten_on_every_axis(load: Load, objective: Objective, paces: Paces) -> None:
    """Whatever was in the search, none is at least as good everywhere and better somewhere; bounds lose nothing."""
    pruned, whole = everything(Wanted(load=load, objective=objective), paces)
    assert pruned.options
    for option in pruned.options:
        assert not [other for other in whole if beats(other.axes, option.axes)]
    assert pruned.options[0].axes.objective == min(each.axes.objective for each in whole)


@SLOW
@given(load=LOADS, kept=st.sets(st.sampled_from(sorted(bundled().offers_by_card)), min_size=1, max_size=8))
def test_another_card_never_worsens_the_best(load: Load, kept: set[str]) -> None:
    """The best of all cards costs no more than the best of some."""
    some = asked(Wanted(load=load, constraints=Constraints(cards=tuple(sorted(kept)))))
    every = asked(Wanted(load=load))
    if some.options:
        assert every.options[0].usd_per_hour <= some.options[0].usd_per_hour


@SLOW
@given(
    load=LOADS,
    most=st.one_of(st.none(), st.floats(0.1, 20)),
    gpus=st.one_of(st.none(), st.integers(1, 8)),
    ecc=st.booleans(),
    countries=st.sampled_from([(), ("eu",), ("US",)]),
)
def test_a_relaxed_condition_never_worsens_the_best(
    load: Load, most: float | None, gpus: int | None, *, ecc: bool, countries: tuple[str, ...]
) -> None:
    """Without conditions the best costs no more than with them, and what is best under them meets them."""
    limits = Constraints(max_usd_per_hour=most, max_gpus=gpus, ecc=ecc, server_countries=countries)
    under, free = asked(Wanted(load=load, constraints=limits)), asked(Wanted(load=load))
    for option in under.options:
        assert most is None or option.usd_per_hour <= most
        assert gpus is None or option.machines * option.offer.gpu_count <= gpus
        assert option.usd_per_hour >= free.options[0].usd_per_hour


@SLOW
@given(
    rate=st.sampled_from([2.0, 60.0, 1157.0]),
    target=st.sampled_from([{}, {"ttft_seconds": 2.0}, {"p95_latency_seconds": 30.0}]),
    condition=st.sampled_from(
        [
            {"unmetered_bandwidth": True},
            {"server_countries": ("eu",)},
            {"billing": "prepaid"},
            {"max_price_age_days": 100},
            {"max_instances": 200},
            {"exclude_cards": ("rtx-pro-6000-blackwell", "rtx-4090")},
        ]
    ),
    slices=st.booleans(),
)
def test_a_relaxed_condition_never_worsens_the_best_at_a_rate(
    rate: float, target: dict[str, float], condition: dict[str, object], *, slices: bool
) -> None:
    """The same where requests come at random and must be answered in time; on slices too, where those are asked for.

    Slices are another way to run, tried for tenants or where they are asked for: `isolation` itself is not relaxed.
    """
    load = msgspec.convert({"prompt_tokens": 100, "output_tokens": 300, "requests_per_second": rate, **target}, Load)
    kept: dict[str, object] = {"isolation": "mig"} if slices else {}
    under, free = (
        asked(Wanted(load=load, limit=1, constraints=msgspec.convert(each, Constraints)), paces=real_paces())
        for each in ({**kept, **condition}, kept)
    )
    assert free.options or not under.options
    for option in under.options:
        assert option.usd_per_hour >= free.options[0].usd_per_hour


@SLOW
@given(load=LOADS, price=st.floats(0.5, 4))
def test_eight_cards_are_not_chosen_where_fewer_do_it_for_less(load: Load, price: float) -> None:
    """Of one card at one price a GPU, the machine chosen is the smallest that carries the load."""
    offers = tuple(
        OwnOffer(sku=f"x{count}", card="h100-sxm-80", count=count, usd_per_hour=price * count) for count in (1, 2, 4, 8)
    )
    found = asked(Wanted(load=load, offers=offers, offers_mode=OffersMode.ONLY, limit=50))
    best = found.options[0]
    assert best.usd_per_hour == pytest.approx(min(option.usd_per_hour for option in found.options))
    assert best.unused_gpus == 0 or math.isclose(best.usd_per_hour, price)


CONDITIONS = st.sampled_from(
    [
        ("identity_check", IdentityCheck.NONE),
        ("payment_methods", (PaymentMethod.MONERO,)),
        ("company_countries", ("eu",)),
        ("exclude_company_countries", ("US",)),
        ("server_countries", ("NL",)),
        ("exclude_server_countries", ("US",)),
        ("unmetered_bandwidth", True),
    ]
)


@given(condition=CONDITIONS)
@settings(max_examples=10, deadline=None)
def test_a_fact_that_is_null_never_satisfies(condition: tuple[str, object]) -> None:
    """With every fact of providers and places taken away, nothing meets a condition on them."""
    world = bundled()
    blank = {
        name: msgspec.structs.replace(
            provider,
            company_country=None,
            server_countries=None,
            identity_check=IdentityCheck.UNKNOWN,
            billing=None,
            payment_methods=None,
            bandwidth=None,
        )
        for name, provider in world.providers.items()
    }
    offers = {name: msgspec.structs.replace(offer, server_country=None) for name, offer in world.offers.items()}
    bare = Shelf(world.cards, offers, blank, world.countries, world.ownership, world.ownership_costs)
    field, value = condition
    found = asked(Wanted(constraints=msgspec.convert({field: value}, Constraints, from_attributes=True)), on=bare)
    assert found.options == ()
    assert found.unknown_matches
    assert all(field in match.unknown for match in found.unknown_matches)


def test_the_search_is_deterministic() -> None:
    """The same request has the same bytes."""
    wanted = Wanted(load=Load(prompt_tokens=1000, output_tokens=300, concurrency=64))
    assert msgspec.json.encode(asked(wanted)) == msgspec.json.encode(asked(wanted))
