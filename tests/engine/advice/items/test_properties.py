"""What holds of every recommendation of pictures and encoders, whatever is asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.answers.model import resolve_model
from cardmatch.answers.pipeline import resolve_pipeline
from cardmatch.answers.subjects import shelf
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.items.encoders import recommend_encoder
from cardmatch.engine.advice.items.pictures import recommend_pictures
from cardmatch.engine.advice.question import Constraints, JobOfWork, Load, OffersMode, OwnOffer, Wanted
from cardmatch.engine.advice.recommend import Shelf, Subject
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.encode.workload import Encode
from cardmatch.engine.money.provider import IdentityCheck
from tests.engine.advice.asking import DAY

WORLD = bundled()
SLOW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS = st.sampled_from(["sdxl", "flux", "bge-m3"])
JOBS = st.builds(
    JobOfWork, items=st.sampled_from([10, 1000, 50_000]), deadline_hours=st.sampled_from([None, 2.0, 24.0])
)


def recommended(model: str, wanted: Wanted, on: Shelf | None = None) -> Recommended:
    """The answer for a pipeline or an encoder."""
    on, known = on or shelf(WORLD), WORLD.calibration
    if model == "bge-m3":
        found = resolve_model(WORLD, model)
        subject = Subject(found.architecture, found.checkpoint, None, Named(model, model))
        return recommend_encoder(subject, Encode(), wanted, on, known.diffusion, known.speed, presets(), priced_on=DAY)
    pipeline = resolve_pipeline(WORLD, model).pipeline
    return recommend_pictures(
        pipeline, Named(model, model), Diffusion(), wanted, on, known.diffusion, known.speed, presets(), priced_on=DAY
    )


@SLOW
@given(
    model=KINDS,
    job=JOBS,
    kept=st.sets(st.sampled_from(sorted(WORLD.offers_by_card)), min_size=1, max_size=8),
    gpus=st.one_of(st.none(), st.integers(1, 64)),
    ecc=st.booleans(),
)
def test_a_card_more_or_a_condition_less_never_worsens_the_best(
    model: str, job: JobOfWork, kept: set[str], gpus: int | None, *, ecc: bool
) -> None:
    """A job costs no more where everything may do it."""
    limits = Constraints(cards=tuple(sorted(kept)), max_gpus=gpus, ecc=ecc)
    some, every = recommended(model, Wanted(job=job, constraints=limits)), recommended(model, Wanted(job=job))
    for option in some.options:
        assert gpus is None or option.machines * option.offer.gpu_count <= gpus
        assert option.cost is not None
        assert every.options[0].cost is not None
        assert every.options[0].cost.total.expected_usd <= option.cost.total.expected_usd * 1.0001


@SLOW
@given(model=KINDS, price=st.floats(0.1, 4), rate=st.sampled_from([0.1, 1.0, 5.0]))
def test_no_more_is_rented_than_does_it(model: str, price: float, rate: float) -> None:
    """Of one card at one price a GPU the load costs what its copies do."""
    offers = tuple(
        OwnOffer(sku=f"x{count}", card="h100-sxm-80", count=count, usd_per_hour=price * count) for count in (1, 2, 4, 8)
    )
    load = Load(requests_per_second=rate)
    best = recommended(model, Wanted(load=load, offers=offers, offers_mode=OffersMode.ONLY)).options[0]
    assert best.unused_gpus == 0
    assert best.usd_per_hour == pytest.approx(price * best.copies)


@pytest.mark.parametrize("model", ["sdxl", "bge-m3"])
@pytest.mark.parametrize(
    "condition",
    [
        {"identity_check": "none"},
        {"company_countries": ["eu"]},
        {"server_countries": ["NL"]},
        {"exclude_server_countries": ["US"]},
        {"unmetered_bandwidth": True},
    ],
)
def test_a_fact_that_is_null_never_satisfies(model: str, condition: dict[str, Any]) -> None:
    """With every fact of providers and places taken away, nothing meets a condition on them."""
    unknown = {
        name: msgspec.structs.replace(
            each,
            company_country=None,
            server_countries=None,
            bandwidth=None,
            identity_check=IdentityCheck.UNKNOWN,
        )
        for name, each in WORLD.providers.items()
    }
    offers = {name: msgspec.structs.replace(offer, server_country=None) for name, offer in WORLD.offers.items()}
    bare = Shelf(WORLD.cards, offers, unknown, WORLD.countries, WORLD.ownership, WORLD.ownership_costs)
    found = recommended(model, Wanted(constraints=msgspec.convert(condition, Constraints)), bare)
    assert found.options == ()
    assert found.unknown_matches


@pytest.mark.parametrize("model", ["sdxl", "flux", "bge-m3"])
def test_the_same_request_has_the_same_bytes(model: str) -> None:
    """Twice asked, once answered."""
    wanted = Wanted(job=JobOfWork(items=1000, deadline_hours=10))
    assert msgspec.json.encode(recommended(model, wanted)) == msgspec.json.encode(recommended(model, wanted))
