"""Ways to fit: each really fits, single changes before pairs, engines' own remedies."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.architectures import GEMMA_4_31B, LLAMA_8B, LLAMA_70B, QWEN3_32B, QWEN_27B
from tests.engine.memory.test_right_values import BF16, GOOD, estimate


def asked(model: Architecture, workload: Inference, card: str, tensor: int = 1) -> PlacementEstimate:
    """The estimate with its ways to fit."""
    return estimate(model, plain(), workload, card, tensor=tensor, ways=True).placements[0]


@pytest.mark.parametrize("model", [LLAMA_8B, QWEN3_32B, LLAMA_70B, GEMMA_4_31B, QWEN_27B])
@pytest.mark.parametrize("card", ["rtx-4090", "a100-sxm-80", "h100-sxm-80"])
@pytest.mark.parametrize("concurrency", [1, 64])
def test_every_way_makes_the_job_run(model: Architecture, card: str, concurrency: int) -> None:
    """Asked again with the changes of a way that only touches the workload, the verdict is the one that it promised."""
    workload = Inference(context_tokens=16384, concurrency=concurrency)
    found = asked(model, workload, card)
    assert found.verdict in GOOD or found.ways_to_fit
    for way in found.ways_to_fit:
        assert way.verdict in GOOD
        fields = {change.pointer: change.value for change in way.changes}
        if not all(pointer.startswith("/workload/") and "engine" not in pointer for pointer in fields):
            continue
        built = msgspec.to_builtins(workload) | {pointer.rpartition("/")[2]: value for pointer, value in fields.items()}
        built["mean_tokens_per_request"] = None
        again = estimate(model, BF16, msgspec.convert(built, Inference), card).placements[0]
        assert again.verdict is way.verdict
        assert again.headroom_bytes == way.headroom_bytes


def test_pairs_are_named_where_no_single_change_is_enough() -> None:
    """Sixteen requests of an 8B model on a 4090 need lighter weights and a lighter cache: neither alone will do."""
    found = asked(LLAMA_8B, Inference(context_tokens=8192, concurrency=16), "rtx-4090")
    pointers = [{change.pointer for change in way.changes} for way in found.ways_to_fit]
    assert {"/workload/kv_cache", "/workload/weights"} in pointers
    assert {"/workload/weights"} not in pointers


def test_a_model_too_large_for_any_single_change_is_spread_in_fewer_bits() -> None:
    """Llama-70B at 16 bits on 4090s: four bits over four cards."""
    found = asked(LLAMA_70B, Inference(context_tokens=8192), "rtx-4090")
    values = [{change.value for change in way.changes} for way in found.ways_to_fit]
    assert {"awq_int4", 4} in values


def test_vllm_is_told_to_profile_for_fewer_requests() -> None:
    """On an H100 the logits of 1,024 requests take gigabytes that one request does not need."""
    workload = Inference(engine=Vllm(version="0.11.0"), context_tokens=16000)
    found = asked(QWEN3_32B, workload, "h100-sxm-80")
    assert found.verdict is Verdict.TIGHT
    assert "/workload/engine/max_num_seqs" in {change.pointer for way in found.ways_to_fit for change in way.changes}


def test_an_explicit_length_of_the_engine_is_what_must_be_changed() -> None:
    """`--max-model-len` decides what one request may take, so the way to fit names it."""
    workload = Inference(engine=Vllm(max_model_len=131072), context_tokens=8192)
    found = asked(LLAMA_8B, workload, "rtx-4090")
    assert found.verdict is Verdict.TIGHT or found.verdict is Verdict.DOES_NOT_FIT
    assert "/workload/engine/max_model_len" in {change.pointer for way in found.ways_to_fit for change in way.changes}


def test_an_engine_that_spills_says_so_first() -> None:
    """llama.cpp would put layers into RAM by itself: it stays does_not_fit, with the spill as the first way."""
    found = asked(QWEN3_32B, Inference(engine=LlamaCpp(), context_tokens=8192), "rtx-4090")
    assert found.verdict is Verdict.DOES_NOT_FIT
    first = found.ways_to_fit[0]
    assert first.changes[0].pointer == "/workload/engine/n_gpu_layers"
    assert first.verdict is Verdict.TIGHT
