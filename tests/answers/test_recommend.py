"""POST /recommend at the edges of what can be asked."""

from __future__ import annotations

import datetime as dt

import msgspec

from cardmatch.answers.recommend import RecommendRequest, recommendation
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language


def test_a_load_beyond_every_fleet_is_no_option() -> None:
    """A hundred billion requests a day: no option holds more GPUs than a cost request may, and the rest say why not."""
    body = {
        "model": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        "load": {"prompt_tokens": 1000, "output_tokens": 300, "requests_per_day": 99_999_999_999},
    }
    answer = recommendation(bundled(), msgspec.convert(body, RecommendRequest), Language.EN, dt.date(2026, 11, 30))
    asked = [option.cost_request.options[0].count or 1 for option in answer.options if option.cost_request]
    assert all(count <= 65_536 for count in asked)
    assert answer.not_chosen
