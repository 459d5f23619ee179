"""Reckonings of training, image and encoding jobs: every line works out, and the lines of a component add up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cardmatch.engine.memory.explain.explanation import Component, Explanation
from cardmatch.engine.terms.fault import Invalid
from tests.engine.memory.test_explain import worked_out
from tests.invariants.changed import WORLD, ask
from tests.invariants.test_ways import MODELS, cards, diffusion, encoding, training

_ROUNDING = 64
"""Bytes by which lines that are rounded one by one may differ from a sum that is rounded once."""
_FIGURES = {
    Component.WEIGHTS: ("weights_bytes",),
    Component.CACHE: ("kv_cache_bytes",),
    Component.GRADIENTS: ("gradients_bytes",),
    Component.OPTIMIZER: ("optimizer_bytes",),
    Component.ACTIVATIONS: ("activations_bytes",),
    Component.OVERHEAD: ("overhead_bytes",),
}


def check(placement: dict[str, Any]) -> None:
    """Every line works out, and together they are the figures of the fullest GPU."""
    lines = msgspec.convert(placement["explanation"], tuple[Explanation, ...])
    sums = dict.fromkeys(Component, 0)
    for each in lines:
        assert worked_out(each) == pytest.approx(each.result_bytes, abs=2, rel=1e-9), each
        assert each.message
        sums[each.component] += each.result_bytes
    on = placement["per_gpu"]
    if "optimizer_bytes" not in on:
        sums[Component.WEIGHTS] += sums.pop(Component.OPTIMIZER)
    for component, size in sums.items():
        if component is Component.BUDGET:
            assert size == placement["budget_bytes"]
        else:
            figure = sum(on.get(name, 0) for name in _FIGURES[component])
            assert size == pytest.approx(figure, abs=_ROUNDING), (component, lines)


def _explained(body: dict[str, Any]) -> None:
    try:
        answer = ask({**body, "explain": True, "ways_to_fit": False})
    except Invalid:
        assume(False)
    for placement in answer["placements"]:
        check(placement)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MODELS), training, cards)
def test_training(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """At the peak of any model, method, preset, optimizer and sharding."""
    _explained({"model": model, "workload": workload, "cards": [card]})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(WORLD.pipelines.rows)), diffusion, cards)
def test_images_and_video(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """In the phase that peaks, whatever waits in host memory, in training too."""
    _explained({"model": model, "workload": workload, "cards": [card]})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(MODELS), encoding, cards)
def test_encoders(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Texts and speech."""
    name = "openai/whisper-large-v3" if workload["task"] == "speech" else model
    _explained({"model": name, "workload": workload, "cards": [card]})


def test_no_reckoning_is_given_unless_it_is_asked_for() -> None:
    """It is null."""
    answer = ask({"model": "sdxl", "workload": {"kind": "diffusion"}, "cards": ["rtx-4090"]})
    assert answer["placements"][0]["explanation"] is None


def test_a_training_line_says_its_numbers_and_where_the_rule_stands() -> None:
    """8B in pure bf16 with AdamW: two bytes a weight, four of states, as the ZeRO paper counts them."""
    workload = {"kind": "training", "method": "full", "fused_loss": True}
    body = {"model": "meta-llama/Llama-3.1-8B-Instruct", "workload": workload, "cards": ["h200-sxm"]}
    lines = {line["rule"]: line for line in ask({**body, "explain": True})["placements"][0]["explanation"]}
    assert lines["trained_weights"]["numbers"]["bytes_each"] == 2
    assert lines["optimizer_states"]["numbers"]["bytes_each"] == 4
    assert lines["trained_weights"]["source"]["version"] == "arXiv 1910.02054"
    assert lines["context"]["measured"]["rows"] > 0


@pytest.mark.parametrize("checkpointing", ["none", "selective", "full"])
@pytest.mark.parametrize("fused_loss", [True, False])
def test_training_of_an_encoder_decoder(checkpointing: str, fused_loss: bool) -> None:  # noqa: FBT001 - a case
    """With what each sequence's source adds, whichever moment is the peak."""
    job = {"kind": "training", "method": "lora", "micro_batch": 16, "fused_loss": fused_loss}
    body = {"model": "whisper large v3", "workload": job | {"gradient_checkpointing": checkpointing}}
    _explained({**body, "cards": ["a100-sxm-80"]})
