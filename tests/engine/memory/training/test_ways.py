"""Ways to fit: each is a real change whose verdict holds when it is asked for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Change, WayToFit
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.architectures import LLAMA_2_13B, LLAMA_8B, LLAMA_70B
from tests.engine.memory.training.shapes import A100_80, RTX_4090, on, workload

KNOWN = calibration().training
OTHERS = (on(A100_80),)
CASES: list[tuple[Architecture, dict[str, Any]]] = [
    (LLAMA_8B, {"method": "full"}),
    (LLAMA_8B, {"method": "lora", "micro_batch": 8, "gradient_checkpointing": "none"}),
    (LLAMA_2_13B, {"method": "lora"}),
    (LLAMA_8B, {"method": "full", "optimizer_in_backward": True, "sharding": "none"}),
    (LLAMA_70B, {"method": "lora", "sequence_tokens": 8192}),
]


def _estimate(model: Architecture, asked: Training, where: Placement, *, ways: bool) -> TrainingPlacement:
    others = OTHERS if ways else ()
    return estimate_training(model, plain(), asked, (where,), KNOWN, alternatives=others).placements[0]


def _applied(asked: Training, where: Placement, changes: tuple[Change, ...]) -> tuple[Training, Placement]:
    """The request with *changes*, as a caller would edit its JSON."""
    body = msgspec.to_builtins(asked)
    for change in changes:
        _, top, *steps = change.pointer.split("/")
        if top == "workload" and steps[0] == "offload":
            body["offload"] = [*body["offload"], change.value]
        elif top == "workload":
            body[steps[0]] = change.value
        elif steps[1] == "count":
            assert isinstance(change.value, int)
            where = replace(where, count=change.value, layout=Layout(data=change.value))
        else:
            where = replace(OTHERS[0], count=where.count, layout=where.layout)
    return msgspec.convert(body, Training), where


@pytest.mark.parametrize(("model", "fields"), CASES)
def test_each_way_keeps_its_promise(model: Architecture, fields: dict[str, Any]) -> None:
    """The changed request, asked anew, gets the verdict and the headroom that the way promised."""
    asked = workload(**fields)
    found = _estimate(model, asked, on(RTX_4090), ways=True)
    assert found.verdict is Verdict.DOES_NOT_FIT
    assert found.ways_to_fit
    for way in found.ways_to_fit:
        changed, where = _applied(asked, on(RTX_4090), way.changes)
        again = _estimate(model, changed, where, ways=False)
        assert (again.verdict, again.headroom_bytes) == (way.verdict, way.headroom_bytes), way.changes
        assert again.verdict is not Verdict.DOES_NOT_FIT


def _sorts(ways: tuple[WayToFit, ...]) -> set[str]:
    return {change.pointer for way in ways for change in way.changes}


def test_full_training_is_offered_adapters_cards_and_offload() -> None:
    """8B in full on 24 GB: LoRA, QLoRA, more of the card, a larger card, system RAM."""
    ways = _estimate(LLAMA_8B, workload("full"), on(RTX_4090), ways=True).ways_to_fit
    assert _sorts(ways) >= {"/workload/method", "/cards/0/count", "/cards/0/card", "/workload/offload/0"}
    methods = {change.value for way in ways for change in way.changes if change.pointer == "/workload/method"}
    assert methods == {"lora", "qlora"}


def test_a_large_batch_is_offered_recomputation_and_accumulation() -> None:
    """The same batch in smaller pieces, and activations that are computed twice."""
    asked = workload("lora", micro_batch=8, gradient_checkpointing="none")
    ways = _estimate(LLAMA_8B, asked, on(A100_80), ways=True).ways_to_fit
    assert _sorts(ways) >= {
        "/workload/gradient_checkpointing",
        "/workload/micro_batch",
        "/workload/gradient_accumulation_steps",
    }


def test_eight_bit_states_are_offered_where_they_suffice() -> None:
    """70B in full over eight 80 GB cards: AdamW in 8 bits makes room."""
    ways = _estimate(LLAMA_70B, workload("full"), on(A100_80, 8), ways=True).ways_to_fit
    assert any(change == Change(pointer="/workload/optimizer", value="adamw_8bit") for change in ways[0].changes)


def test_a_job_that_fits_is_offered_nothing() -> None:
    """Ways are for placements that are tight or do not fit."""
    assert _estimate(LLAMA_8B, workload("qlora"), on(A100_80), ways=True).ways_to_fit == ()
