"""Activation bytes against the formulas of Korthikanti et al. (arXiv 2205.05198) and measured slopes."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.training.activations import layer
from cardmatch.engine.memory.training.demand import demands
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.style import Saved, Style
from cardmatch.engine.models.architecture import Dense, Experts, LayerGroup
from tests.engine.memory.training.shapes import LLAMA_3_2_3B, gpt, job

HIDDEN, HEADS, SEQUENCE = 12288, 96, 2048
GPT = gpt(HIDDEN, HEADS)
PAPER = Style(scores=True, dropout=True)


def _saved(style: Style) -> Saved:
    return layer(GPT.layer_groups[0], HIDDEN, style)


def test_a_gpt_block_keeps_what_korthikanti_counted() -> None:
    """Equation 1: s·b·h·(34 + 5·a·s/h) bytes per layer."""
    saved = _saved(PAPER)
    kept = saved.whole + saved.sharded + saved.scores * SEQUENCE
    assert kept == HIDDEN * (34 + 5 * HEADS * SEQUENCE / HIDDEN)


def test_tensor_parallelism_divides_what_equation_2_divides() -> None:
    """Equation 2: s·b·h·(10 + 24/t + 5·a·s/(h·t)): norms, dropout masks and inputs stay on every rank."""
    saved = _saved(PAPER)
    assert (saved.whole, saved.sharded, saved.scores) == (10 * HIDDEN, 24 * HIDDEN, 5 * HEADS)


def test_without_dropout_and_scores_34_become_32() -> None:
    """Flash attention keeps no scores; two masks of one byte go with the dropout."""
    saved = _saved(Style())
    assert (saved.whole + saved.sharded, saved.scores) == (32 * HIDDEN, 0)


def test_full_recomputation_keeps_one_input_per_layer() -> None:
    """§5: 2·s·b·h bytes per layer in 16 bits."""
    kept = demands(job(LLAMA_3_2_3B, "full", gradient_checkpointing="full"), Mesh())[0].kept_per_token
    assert kept == 2 * 3072 * 28


def test_a_compiled_llama_block_keeps_what_torchtune_measured() -> None:
    """Torchtune's memory table: compiling and chunking the loss of Llama-3.2-3B implies 104 KB per token and layer."""
    trained = job(LLAMA_3_2_3B, "full", kernels="compiled", gradient_checkpointing="none")
    kept = demands(trained, Mesh())[0].kept_per_token / 28
    assert kept == 12 * 3072 + 4 * 1024 + 8 * 8192
    assert kept / 1024 == pytest.approx(104, rel=0.01)


def test_frozen_matrices_keep_no_inputs() -> None:
    """LoRA on queries and values alone keeps neither the feed-forward's product nor the attention's input for keys."""
    full, lora = (
        demands(job(LLAMA_3_2_3B, method, gradient_checkpointing="none", **extra), Mesh())[0].kept_per_token
        for method, extra in (("full", {}), ("lora", {"lora": {"targets": ["q", "v"]}}))
    )
    assert full - lora >= 28 * 2 * 8192


def test_experts_keep_as_many_copies_as_a_token_visits() -> None:
    """Two experts of a width keep at least twice what one dense feed-forward of that width keeps."""
    one = layer(LayerGroup(blocks=(Dense(width=14336),)), 4096, Style())
    two = layer(LayerGroup(blocks=(Experts(experts=8, experts_per_token=2, width=14336),)), 4096, Style())
    assert two.sharded >= 2 * one.sharded


def test_eager_attention_grows_with_the_square_of_the_length() -> None:
    """Scores of every head are kept for each pair of tokens; FlashAttention keeps none."""
    eager, flash = (
        demands(job(LLAMA_3_2_3B, "full", attention=kind, gradient_checkpointing="none"), Mesh())[0]
        for kind in ("eager", "flash")
    )
    assert eager.kept_scores == 28 * 24 * (2 + 4)
    assert flash.kept_scores == 0


def test_offloaded_checkpoints_leave_two_layers_behind() -> None:
    """Torchtune's activation offloading saved the 1.3 GiB of checkpoints of Llama-3.2-3B at 2 × 4096 tokens."""
    here = demands(job(LLAMA_3_2_3B, "full"), Mesh())[0].kept_per_token
    away = demands(job(LLAMA_3_2_3B, "full", offload=["activations"]), Mesh())[0].kept_per_token
    assert (here - away) * 2 * 4096 / 2**30 == pytest.approx(1.3, abs=0.1)
