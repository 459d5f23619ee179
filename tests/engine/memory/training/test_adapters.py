"""Adapter parameters as libraries print them, and targets that a model has or lacks."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.training.adapters import adapters
from cardmatch.engine.memory.training.workload import Lora
from cardmatch.engine.terms.fault import FaultCode, Invalid
from tests.engine.memory.training.shapes import LLAMA_2_7B, LLAMA_3_2_3B


def test_llama_2_7b_with_rank_8_on_queries_and_values() -> None:
    """Litgpt and peft print 4,194,304 trainable parameters."""
    assert adapters(LLAMA_2_7B, Lora(rank=8, targets=("q_proj", "v_proj"))).parameters == 4_194_304


def test_llama_3_2_3b_with_rank_32_on_queries_and_values() -> None:
    """Litgpt prints 9,175,040: values are narrower than queries because heads are grouped."""
    assert adapters(LLAMA_3_2_3B, Lora(rank=32, targets=("q", "v"))).parameters == 9_175_040


def test_llama_2_7b_with_rank_16_on_all_linear_layers() -> None:
    """Peft prints 39,976,960 for target_modules="all-linear": seven matrices a layer, the head left out."""
    assert adapters(LLAMA_2_7B, Lora()).parameters == 39_976_960


@pytest.mark.parametrize(
    ("model", "target", "rank", "printed"),
    [("openai-community/gpt2", "c_attn", 8, 294_912), ("bigscience/bloom-7b1", "query_key_value", 16, 7_864_320)],
)
def test_a_fused_matrix_gets_one_adapter(model: str, target: str, rank: int, printed: int) -> None:
    """Peft's print_trainable_parameters of GPT-2 at r = 8 and of BLOOM-7B1 at r = 16: one module for three matrices."""
    shape = bundled().models[model].architecture
    assert adapters(shape, Lora(rank=rank, targets=(target,))).parameters == printed


@pytest.mark.parametrize("target", ["c_attn", "query_key_value", "Wqkv", "qkv_proj", "gate_up_proj", "fc1", "query"])
def test_names_of_other_families_are_refused(target: str) -> None:
    """Peft: target modules not found in the base model. Llama's matrices are q_proj, gate_proj and so on."""
    with pytest.raises(Invalid) as caught:
        adapters(LLAMA_2_7B, Lora(targets=(target,)))
    assert caught.value.faults[0].code is FaultCode.LORA_TARGET_NOT_IN_MODEL


def test_the_head_is_adapted_only_when_it_is_named() -> None:
    """Rank × (hidden + vocabulary) more."""
    extra = adapters(LLAMA_2_7B, Lora(rank=4, targets=("q", "lm_head"))).parameters
    assert extra - adapters(LLAMA_2_7B, Lora(rank=4, targets=("q",))).parameters == 4 * (4096 + 32000)


def test_a_target_that_the_model_lacks_is_refused_with_those_it_has() -> None:
    """The pointer names the entry of the list."""
    with pytest.raises(Invalid) as caught:
        adapters(LLAMA_2_7B, Lora(targets=("q_proj", "in_proj_qkvz")))
    fault = caught.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.LORA_TARGET_NOT_IN_MODEL, "/workload/lora/targets/1")
    assert "all_linear" in fault.suggestions
    assert "q_proj" in fault.suggestions
