"""Whatever is made: more work or a smaller card is never judged better, and a process holds what is reserved."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import Invalid
from tests.invariants.changed import WORLD, ask

GIB = 1 << 30
ORDER = [each.value for each in Verdict]
PIPELINES = sorted(WORLD.pipelines.rows)
EXAMPLES = settings(max_examples=60, deadline=None)
WIDER = [512, 768, 1024, 1536, 2048]
BATCHES = [1, 2, 3, 4, 5, 8, 16, 64]
OFFLOADS = ["none", "model", "group", "sequential"]

workloads = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("diffusion"), "task": st.just("inference")},
        optional={
            "vae_tiling": st.booleans(),
            "vae_slicing": st.booleans(),
            "offload": st.sampled_from(OFFLOADS),
            "precision": st.sampled_from(["bf16", "fp16", "fp32"]),
        },
    ),
    st.fixed_dictionaries(
        {"kind": st.just("diffusion"), "task": st.sampled_from(["lora", "full"])},
        optional={
            "gradient_checkpointing": st.booleans(),
            "optimizer": st.sampled_from(["adamw", "sgd", "adamw_8bit"]),
            "precision": st.sampled_from(["bf16", "fp16", "fp32"]),
        },
    ),
)
cards = st.one_of(
    st.sampled_from(["t4", "rtx-3090", "rtx-4090", "l40s", "a100-sxm-80"]),
    st.floats(4, 100).map(lambda gib: {"card": {"memory_bytes": int(gib * GIB)}}),
)


def placed(model: str, workload: dict[str, Any], card: Any) -> dict[str, Any]:
    """What is said of *card*; requests that contradict themselves are passed over."""
    try:
        found = ask({"model": model, "workload": workload, "cards": [card], "ways_to_fit": False})
    except Invalid:
        assume(False)
    only: dict[str, Any] = found["placements"][0]
    return only


def _no_better(found: list[dict[str, Any]]) -> None:
    for before, after in pairwise(found):
        assert ORDER.index(after["verdict"]) >= ORDER.index(before["verdict"])
        assert after["headroom_bytes"] <= before["headroom_bytes"]
        assert after["peaks"]["allocated"]["expected_bytes"] >= before["peaks"]["allocated"]["expected_bytes"]


@EXAMPLES
@given(st.sampled_from(PIPELINES), workloads, cards)
def test_more_pictures_are_never_judged_better(model: str, workload: dict[str, Any], card: Any) -> None:
    """SDXL on a 4090 took 23 GiB for two pictures and 18 for three."""
    _no_better([placed(model, {**workload, "batch": batch}, card) for batch in BATCHES])


@EXAMPLES
@given(st.sampled_from(PIPELINES), workloads, cards)
def test_larger_pictures_are_never_judged_better(model: str, workload: dict[str, Any], card: Any) -> None:
    """Twice the width is no less work."""
    _no_better([placed(model, {**workload, "width_pixels": width}, card) for width in WIDER])


@EXAMPLES
@given(st.sampled_from(PIPELINES), workloads)
def test_less_memory_is_never_judged_better(model: str, workload: dict[str, Any]) -> None:
    """SDXL was comfortable in 14.6 GiB and only fitted in 16."""
    sizes = [{"card": {"memory_bytes": int(gib * GIB)}} for gib in (80, 40, 24, 20, 19, 18, 16, 15, 14, 12, 10, 8, 6)]
    _no_better([placed(model, workload, size) for size in sizes])


@EXAMPLES
@given(st.sampled_from(PIPELINES), workloads, cards)
def test_a_process_holds_what_is_reserved_and_that_what_is_allocated(
    model: str, workload: dict[str, Any], card: Any
) -> None:
    """By each end of the bands; a job that the allocator must squeeze is tight."""
    found = placed(model, workload, card)
    peaks = found["peaks"]
    for end in ("expected_bytes", "high_bytes"):
        assert peaks["process"][end] >= peaks["reserved"][end] >= peaks["allocated"][end]
    for band in peaks.values():
        assert band["low_bytes"] <= band["expected_bytes"] <= band["high_bytes"]
    if any(each["code"] == "allocator_squeezed" for each in found["notices"]):
        assert found["verdict"] == "tight"


@pytest.mark.parametrize("model", PIPELINES)
def test_offload_never_takes_more_than_what_it_spares(model: str) -> None:
    """The more waits in RAM, the less is on the GPU, at the high end too no more than without."""
    found = []
    for offload in OFFLOADS:
        workload = {"kind": "diffusion", "offload": offload}
        found.append(placed(model, workload, "h200-sxm")["peaks"])
    for counter in ("allocated", "reserved", "process"):
        expected = [peaks[counter]["expected_bytes"] for peaks in found]
        assert expected == sorted(expected, reverse=True)
        assert all(peaks[counter]["high_bytes"] <= found[0][counter]["high_bytes"] for peaks in found)
    assert found[0]["process"]["high_bytes"] > found[0]["process"]["expected_bytes"]


def test_a_squeezed_training_run_reserves_no_more_than_its_process_holds() -> None:
    """Eight sequences of an 8B model on 80 GB: the allocator would like more than there is."""
    workload = {"kind": "training", "method": "full", "micro_batch": 8}
    found = placed("llama 3.1 8b", workload, "a100-sxm-80")
    peaks = found["peaks"]
    assert [each["code"] for each in found["notices"]] == ["allocator_squeezed"]
    assert (
        peaks["process"]["expected_bytes"] > peaks["reserved"]["expected_bytes"] >= peaks["allocated"]["expected_bytes"]
    )
