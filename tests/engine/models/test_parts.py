"""Weights of known models against what their engines' logs say they take."""

from __future__ import annotations

import pytest

from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup
from cardmatch.engine.models.checkpoint import Checkpoint, plain, requantised
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.linears import Split
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.units import GIB


def dense(
    *, layers: int, hidden: int, heads: tuple[int, int, int], width: int, vocabulary: int, context: int, small: int = 0
) -> Architecture:
    """A Llama-like model; *heads* are query heads, key-value heads and head size."""
    queries, keys, size = heads
    blocks = (Attention(query_heads=queries, kv_heads=keys, head_size=size), Dense(width=width))
    return Architecture(
        family="llama",
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        layer_groups=(LayerGroup(blocks=blocks, small_parameters=2 * hidden + small),),
        layer_order=(0,) * layers,
        maximum_context_tokens=context,
        small_parameters=hidden,
        rotary_cache_elements=context * size,
    )


LLAMA_8B = dense(layers=32, hidden=4096, heads=(32, 8, 128), width=14336, vocabulary=128256, context=131072)
LLAMA_70B = dense(layers=80, hidden=8192, heads=(64, 8, 128), width=28672, vocabulary=128256, context=131072)
LLAMA_2_13B = dense(layers=40, hidden=5120, heads=(40, 40, 128), width=13824, vocabulary=32000, context=4096)
QWEN3_32B = dense(layers=64, hidden=5120, heads=(64, 8, 128), width=25600, vocabulary=151936, context=40960, small=256)


def gib(architecture: Architecture, checkpoint: Checkpoint, ranks: int = 1) -> float:
    """Bytes on one of *ranks* tensor-parallel GPUs, in GiB."""
    held = sum(
        part.bytes / (1 if part.split is Split.REPLICATED else ranks) for part in parts(architecture, checkpoint)
    )
    return held / GIB


@pytest.mark.parametrize(
    ("architecture", "weights", "expected"),
    [
        (LLAMA_8B, "bf16", 14.96),
        (LLAMA_70B, "awq_int4", 37.04),
        (LLAMA_70B, "fp8", 67.66),
        (LLAMA_2_13B, "fp16", 24.24),
        (QWEN3_32B, "bf16", 61.02),
    ],
)
def test_weights_are_what_the_engine_loads(architecture: Architecture, weights: str, expected: float) -> None:
    """VLLM's start-up log prints these sizes, less the rotary table where it is large."""
    checkpoint = requantised(architecture, plain(Dtype.BF16), weights)
    assert gib(architecture, checkpoint) == pytest.approx(expected, abs=0.015)


def test_the_rotary_table_explains_the_rest_of_the_log() -> None:
    """VLLM holds Llama-3.1-8B in 14.9888 GiB: parameters and a table of positions × head size in 16 bits."""
    table = LLAMA_8B.rotary_cache_elements * 2 / GIB
    assert gib(LLAMA_8B, plain()) + table == pytest.approx(14.9888, abs=0.0002)


def test_tensor_parallelism_halves_all_but_the_small_parts() -> None:
    """Qwen3-32B on two GPUs takes 30.59 GiB on each, says vLLM's log, rotary table included."""
    table = QWEN3_32B.rotary_cache_elements * 2 / GIB
    assert gib(QWEN3_32B, plain(), ranks=2) + table == pytest.approx(30.59, abs=0.08)


@pytest.mark.parametrize(
    ("mix", "architecture", "bits"),
    [
        ("Q2_K", LLAMA_8B, 3.16),
        ("Q3_K_M", LLAMA_8B, 4.00),
        ("Q4_0", LLAMA_8B, 4.65),
        ("IQ4_XS", LLAMA_8B, 4.42),
        ("Q4_K_S", LLAMA_8B, 4.67),
        ("Q4_K_M", LLAMA_8B, 4.89),
        ("Q5_K_M", LLAMA_8B, 5.70),
        ("Q6_K", LLAMA_8B, 6.56),
        ("Q8_0", LLAMA_8B, 8.50),
        ("Q4_K_M", LLAMA_70B, 4.82),
        ("Q3_K_M", LLAMA_70B, 3.88),
    ],
)
def test_gguf_mixes_take_the_published_bits_per_weight(mix: str, architecture: Architecture, bits: float) -> None:
    """llama.cpp prints bits per weight of a file when it loads it."""
    checkpoint = requantised(architecture, plain(), f"gguf:{mix}")
    size = sum(part.bytes for part in parts(architecture, checkpoint)) * 8
    assert size / parameters(architecture).total == pytest.approx(bits, abs=0.025)
