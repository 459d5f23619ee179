"""Rates that the speed model predicts for options of /cost."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.cost import Cost, CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language

QWEN = {"kind": "predicted", "model": "Qwen/Qwen3-8B"}


def _answer(*options: dict[str, Any], **work: Any) -> Cost:
    shared = {"price": {"kind": "caller", "usd_per_hour": 2.0}, "charges": {"billing_increment_seconds": 1}}
    lengths = {"kind": "job", "unit": "token", "units": 1e9, "prompt_tokens": 1000, "output_tokens": 300}
    body = {
        "options": [shared | {"label": str(index)} | option for index, option in enumerate(options)],
        "work": lengths | work,
    }
    return cost(bundled(), msgspec.convert(body, CostRequest), Language.EN, dt.date(2026, 11, 30))


def _rates(answer: Cost) -> list[float]:
    return [option.rate.throughput.expected_units_per_second for option in answer.options if option.rate is not None]


def test_units_count_the_tokens_of_the_same_requests() -> None:
    """1,300 tokens a request, of which 300 are written: the three units stand in these ratios."""
    option = {"card": "h100-sxm-80", "throughput": QWEN}
    (every,), (written,), (requests,) = (
        _rates(_answer(option, unit=unit)) for unit in ("token", "output_token", "request")
    )
    assert every == pytest.approx(1300 * requests)
    assert written == pytest.approx(300 * requests)


def test_a_model_too_large_for_one_card_takes_as_few_as_hold_it() -> None:
    """70 GB of FP8 weights need two L40S of 48 GB at least; twice the cards hold twice the copies."""
    seventy = {"kind": "predicted", "model": "meta-llama/Llama-3.3-70B-Instruct", "workload": {"weights": "fp8"}}
    four, eight = _rates(_answer(*({"card": "l40s", "count": count, "throughput": seventy} for count in (4, 8))))
    assert eight == pytest.approx(2 * four)


def test_a_model_that_no_layout_holds_is_refused() -> None:
    """140 GB of weights do not run on one 4090 without RAM."""
    with pytest.raises(Invalid) as refused:
        _answer({"card": "rtx-4090", "throughput": QWEN | {"model": "meta-llama/Llama-3.3-70B-Instruct"}})
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code.value) == ("/options/0/throughput/model", "model_does_not_fit")


@pytest.mark.parametrize(
    ("throughput", "pointer", "code"),
    [
        (QWEN | {"workload": {"concurency": 2}}, "/options/0/throughput/workload/concurency", "unknown_field"),
        (QWEN | {"model": "qwen banana 8b"}, "/options/0/throughput/model", "unknown_model"),
    ],
)
def test_what_is_wrong_with_a_prediction_has_its_place(throughput: dict[str, Any], pointer: str, code: str) -> None:
    """Misspelt fields and names are pointed to below the throughput."""
    with pytest.raises(Invalid) as refused:
        _answer({"card": "l40s", "throughput": throughput})
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code.value) == (pointer, code)


def test_a_language_model_makes_no_images() -> None:
    """Images are made by pipelines; the refusal says what this model is."""
    with pytest.raises(Invalid) as refused:
        _answer({"card": "l40s", "throughput": QWEN}, unit="image")
    assert refused.value.faults[0].code.value == "wrong_kind_of_model"


def test_training_is_counted_in_tokens_or_sequences() -> None:
    """A sample is a sequence of the workload's length; LoRA on one card needs no lengths of requests."""
    option = {
        "card": "a100-sxm-80",
        "throughput": QWEN | {"workload": {"method": "lora", "framework": "trl", "sequence_tokens": 2048}},
    }
    (tokens,) = _rates(_answer(option, unit="train_token", prompt_tokens=None, output_tokens=None))
    (samples,) = _rates(_answer(option, unit="sample"))
    assert tokens == pytest.approx(2048 * samples)


def test_training_that_does_not_fit_is_refused() -> None:
    """Weights, gradients and two states of 8 billion parameters do not fit in 24 GB."""
    with pytest.raises(Invalid) as refused:
        _answer({"card": "rtx-4090", "throughput": QWEN | {"workload": {"method": "full"}}}, unit="train_token")
    assert refused.value.faults[0].code.value == "model_does_not_fit"


def test_a_bare_size_is_a_rule_of_thumb() -> None:
    """The model that stands for a size says little of the others."""
    (option,) = _answer({"card": "l40s", "throughput": QWEN | {"model": "7B"}}).options
    assert option.rate is not None
    assert option.rate.throughput.basis is Basis.RULE_OF_THUMB


def test_a_measurement_outside_the_predicted_band_is_said_and_used() -> None:
    """A figure ten times off the prediction counts, with a notice; one inside passes in silence."""
    (found,) = _rates(_answer({"card": "h100-sxm-80", "throughput": QWEN}))
    apart, alike = (
        _answer(
            {"card": "h100-sxm-80", "throughput": {"kind": "measured", "units_per_second": rate, "prediction": QWEN}}
        ).options[0]
        for rate in (found / 10, found)
    )
    assert [notice.code.value for notice in apart.notices if "measured" in notice.code.value] == [
        "measured_outside_prediction"
    ]
    assert apart.rate is not None
    assert apart.rate.throughput.expected_units_per_second == pytest.approx(found / 10)
    assert not [notice for notice in alike.notices if "measured" in notice.code.value]
