"""GGUF files: what their metadata and tensor tables say, against the sizes that llama.cpp logs."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.models.cache import CacheKind, by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.gguf.read import read_gguf
from cardmatch.engine.models.model import Model
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB, MIB


def metadata(architecture: str, file_type: int | None = None, **keys: Any) -> dict[str, Any]:
    """Metadata of *architecture*; double underscores in *keys* are dots."""
    found = {f"{architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    tokens = found.pop(f"{architecture}.tokens", None)
    if tokens is not None:
        found["tokenizer.ggml.tokens"] = tokens
    if file_type is not None:
        found["general.file_type"] = file_type
    return {"general.architecture": architecture, **found}


LLAMA_8B = metadata(
    "llama",
    15,
    block_count=32,
    context_length=131072,
    embedding_length=4096,
    feed_forward_length=14336,
    attention__head_count=32,
    attention__head_count_kv=8,
    vocab_size=128256,
)
QWEN3_30B = metadata(
    "qwen3moe",
    15,
    block_count=48,
    context_length=40960,
    embedding_length=2048,
    feed_forward_length=6144,
    expert_count=128,
    expert_used_count=8,
    expert_feed_forward_length=768,
    attention__head_count=32,
    attention__head_count_kv=4,
    attention__key_length=128,
    attention__value_length=128,
    tokens=151936,
)
QWEN35_27B = metadata(
    "qwen35",
    block_count=64,
    context_length=262144,
    embedding_length=5120,
    feed_forward_length=17408,
    attention__head_count=24,
    attention__head_count_kv=4,
    attention__key_length=256,
    attention__value_length=256,
    full_attention_interval=4,
    ssm__conv_kernel=4,
    ssm__inner_size=6144,
    ssm__state_size=128,
    ssm__time_step_rank=48,
    ssm__group_count=16,
    tokens=248320,
)
DEEPSEEK_V3 = metadata(
    "deepseek2",
    block_count=61,
    context_length=163840,
    embedding_length=7168,
    feed_forward_length=18432,
    leading_dense_block_count=3,
    expert_count=256,
    expert_used_count=8,
    expert_shared_count=1,
    expert_feed_forward_length=2048,
    attention__head_count=128,
    attention__head_count_kv=1,
    attention__key_length=576,
    attention__value_length=512,
    attention__key_length_mla=192,
    attention__value_length_mla=128,
    attention__q_lora_rank=1536,
    attention__kv_lora_rank=512,
    rope__dimension_count=64,
    vocab_size=129280,
)


def held(model: Model) -> int:
    """Bytes of all parts."""
    return sum(part.bytes for part in parts(model.architecture, model.checkpoint))


@pytest.mark.parametrize(("values", "size"), [(LLAMA_8B, 4.58), (QWEN3_30B, 17.28)])
def test_a_mix_takes_what_the_log_says(values: dict[str, Any], size: float, dialects: Dialects) -> None:
    """Logs: Llama-3.1-8B Q4_K_M 4.58 GiB, Qwen3-30B-A3B Q4_K_M 17.28 GiB."""
    assert held(read_gguf(values, dialects)) / GIB == pytest.approx(size, abs=0.02)


def test_the_metadata_says_the_architecture(dialects: Dialects) -> None:
    """Parameters are those of the published safetensors; tokens may be given as their number."""
    assert parameters(read_gguf(LLAMA_8B, dialects).architecture).total == 8_030_261_248
    assert parameters(read_gguf(QWEN3_30B, dialects).architecture).total == 30_532_122_624
    assert parameters(read_gguf(DEEPSEEK_V3, dialects).architecture).total == 671_026_419_200


def test_a_latent_is_one_for_all_heads(dialects: Dialects) -> None:
    """61 layers of 512 + 64 elements: 68.6 KiB a token in f16, as llama.cpp logs since January 2026."""
    (row,) = by_layer(read_gguf(DEEPSEEK_V3, dialects).architecture)
    assert (row.kind, row.layers, row.elements) == (CacheKind.MLA, 61, 576)


def test_recurrent_state_is_what_the_log_says(dialects: Dialects) -> None:
    """llama.cpp logs 149.62 MiB of f32 state for the 27B."""
    rows = by_layer(read_gguf(QWEN35_27B, dialects).architecture)
    state = sum(4 * row.layers * (row.convolution_elements + row.recurrent_elements) for row in rows)
    assert state / MIB == pytest.approx(149.62, abs=0.01)
    assert {row.kind: row.layers for row in rows} == {CacheKind.FULL: 16, CacheKind.LINEAR: 48}


def llama_tensors() -> list[dict[str, Any]]:
    """The table of a small Llama in Q4_K, its norms in F32 and no output matrix."""
    layers = [
        (name, shape, kind)
        for layer in range(2)
        for name, shape, kind in (
            (f"blk.{layer}.attn_q.weight", [512, 512], "Q4_K"),
            (f"blk.{layer}.attn_k.weight", [512, 256], "Q4_K"),
            (f"blk.{layer}.attn_v.weight", [512, 256], 14),
            (f"blk.{layer}.attn_output.weight", [512, 512], 12),
            (f"blk.{layer}.ffn_gate.weight", [512, 1024], 12),
            (f"blk.{layer}.ffn_up.weight", [512, 1024], 12),
            (f"blk.{layer}.ffn_down.weight", [1024, 512], 12),
            (f"blk.{layer}.attn_norm.weight", [512], 0),
            (f"blk.{layer}.ffn_norm.weight", [512], 0),
        )
    ]
    named = [("token_embd.weight", [512, 1000], "Q6_K"), ("output_norm.weight", [512], "F32"), *layers]
    return [{"name": name, "shape": shape, "type": kind} for name, shape, kind in named]


def test_a_tensor_table_is_exact(dialects: Dialects) -> None:
    """Blocks of 256: Q4_K takes 144 bytes, Q6_K 210, and F32 four an element; no output matrix means tied."""
    values = metadata(
        "llama",
        block_count=2,
        embedding_length=512,
        feed_forward_length=1024,
        attention__head_count=8,
        attention__head_count_kv=4,
        vocab_size=1000,
    )
    model = read_gguf(values, dialects, tensors=llama_tensors())
    blocks = {"q4": 2 * (2 * 512 * 512 + 512 * 256 + 3 * 512 * 1024), "q6": 2 * 512 * 256 + 512 * 1000}
    expected = blocks["q4"] // 256 * 144 + blocks["q6"] // 256 * 210 + 5 * 512 * 4
    assert abs(held(model) - expected) <= 8
    assert model.architecture.tied_embeddings
    assert model.checkpoint.exact


def test_a_file_size_corrects_the_mix(dialects: Dialects) -> None:
    """A dynamic build is not what its label says: its size is."""
    model = read_gguf(LLAMA_8B, dialects, file_bytes=5_200_000_000)
    assert held(model) == pytest.approx(5_200_000_000, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "code", "pointer"),
    [
        ({}, FaultCode.GGUF_KEY_MISSING, "/metadata"),
        ({"general.architecture": 7}, FaultCode.WRONG_TYPE, "/metadata/general.architecture"),
        (metadata("zork", block_count=1), FaultCode.UNKNOWN_ARCHITECTURE, "/metadata/general.architecture"),
        ({**LLAMA_8B, "llama.block_count": 0}, FaultCode.TOO_SMALL, "/metadata/llama.block_count"),
        (
            {**LLAMA_8B, "llama.attention.head_count_kv": [8] * 3},
            FaultCode.CONTRADICTION,
            "/metadata/llama.attention.head_count_kv",
        ),
        (
            {**LLAMA_8B, "llama.attention.head_count_kv": 5},
            FaultCode.NOT_DIVISIBLE,
            "/metadata/llama.attention.head_count",
        ),
        (
            {key: value for key, value in LLAMA_8B.items() if "feed_forward" not in key},
            FaultCode.GGUF_KEY_MISSING,
            "/metadata",
        ),
        (
            {key: value for key, value in LLAMA_8B.items() if "vocab" not in key},
            FaultCode.GGUF_KEY_MISSING,
            "/metadata",
        ),
    ],
)
def test_wrong_metadata_is_named(values: dict[str, Any], code: FaultCode, pointer: str, dialects: Dialects) -> None:
    """Missing, contradictory and unknown keys are refused in GGUF's own words; no class default stands in."""
    with pytest.raises(Invalid) as refused:
        read_gguf(values, dialects)
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)


@pytest.mark.parametrize(
    ("tensor", "pointer"),
    [
        (7, "/tensors/0"),
        ({"name": 1, "shape": [1], "type": 0}, "/tensors/0/name"),
        ({"name": "a", "shape": [], "type": 0}, "/tensors/0/shape"),
        ({"name": "a", "shape": [1 << 40], "type": 0}, "/tensors/0/shape/0"),
        ({"name": "a", "shape": [4], "type": "Q99"}, "/tensors/0/type"),
        ({"name": "a", "shape": [4]}, "/tensors/0/type"),
    ],
)
def test_a_wrong_tensor_is_named(tensor: Any, pointer: str, dialects: Dialects) -> None:
    """The table's faults say which tensor and which of its facts."""
    with pytest.raises(Invalid) as refused:
        read_gguf(LLAMA_8B, dialects, tensors=[tensor])
    assert refused.value.faults[0].pointer == pointer


@pytest.mark.parametrize(
    ("heads", "elements"), [([8, 4] * 16, 16 * 2 * (8 + 4) * 128), ([8, 0] * 16, 16 * 2 * 8 * 128)]
)
def test_layers_have_the_cache_that_the_file_lists(heads: list[int], elements: int, dialects: Dialects) -> None:
    """Key-value heads may differ from layer to layer: two elements a head and position, and none for no heads."""
    model = read_gguf({**LLAMA_8B, "llama.attention.head_count_kv": heads}, dialects)
    assert sum(row.layers * row.elements for row in by_layer(model.architecture)) == elements


@pytest.mark.parametrize("heads", [0, [0] * 32])
def test_attention_without_a_cache_is_refused(heads: Any, dialects: Dialects) -> None:
    """Query heads need key-value heads somewhere."""
    with pytest.raises(Invalid) as refused:
        read_gguf({**LLAMA_8B, "llama.attention.head_count_kv": heads}, dialects)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.TOO_SMALL, "/metadata/llama.attention.head_count_kv")


def test_a_table_of_one_tensor_is_refused(dialects: Dialects) -> None:
    """The embedding alone is not the file: half a billion elements where eight billion belong."""
    table = [{"name": "token_embd.weight", "shape": [4096, 128256], "type": "F16"}]
    with pytest.raises(Invalid) as refused:
        read_gguf(LLAMA_8B, dialects, tensors=table)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.CONTRADICTION, "/tensors")
    assert fault.params["value"] == 4096 * 128256


@pytest.mark.parametrize(
    ("number", "code"),
    [(999, FaultCode.WRONG_VALUE), ("Q4_K_M", FaultCode.WRONG_TYPE), (True, FaultCode.WRONG_TYPE)],
)
def test_a_type_that_is_not_known_is_refused_or_told_by_the_size(
    number: Any, code: FaultCode, dialects: Dialects
) -> None:
    """Without a size nothing tells the type; 4.92 GB are a Q4_K_M of eight billion, and that is said."""
    values = {**LLAMA_8B, "general.file_type": number}
    with pytest.raises(Invalid) as refused:
        read_gguf(values, dialects)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (code, "/metadata/general.file_type")
    model = read_gguf(values, dialects, file_bytes=4_920_739_232)
    assert model.checkpoint.format == "gguf:Q4_K_M"
    assert model.assumed == {"/metadata/general.file_type": 15}


def test_a_type_that_is_not_stated_is_assumed_aloud(dialects: Dialects) -> None:
    """Converters write F16 where nothing else is asked for (file type 1)."""
    model = read_gguf({key: value for key, value in LLAMA_8B.items() if key != "general.file_type"}, dialects)
    assert (model.checkpoint.format, model.assumed) == ("gguf:F16", {"/metadata/general.file_type": 1})


@pytest.mark.parametrize("size", [1, 10**14])
def test_a_size_that_no_such_file_has_is_refused(size: int, dialects: Dialects) -> None:
    """Eight billion weights in Q4_K_M are neither a byte nor a hundred terabytes."""
    with pytest.raises(Invalid) as refused:
        read_gguf(LLAMA_8B, dialects, file_bytes=size)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.CONTRADICTION, "/file_bytes")
