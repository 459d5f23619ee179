"""llama.cpp's buffers against what its logs print."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.llama_cpp.options import Draft, FlashAttention, LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.overrides import TensorOverride
from cardmatch.engine.memory.engines.llama_cpp.reserves import LlamaCppReserves
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture, Attention, Dense, Experts, LayerGroup, Span
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.engine.terms.units import GIB, MIB


def dense(layers: int, hidden: int, heads: tuple[int, int, int], width: int, vocabulary: int) -> Architecture:
    """A Llama-like model; *heads* are query heads, key-value heads and head size."""
    queries, keys, size = heads
    blocks = (Attention(query_heads=queries, kv_heads=keys, head_size=size), Dense(width=width))
    return Architecture(
        family="llama",
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        layer_groups=(LayerGroup(blocks=blocks, small_parameters=2 * hidden),),
        layer_order=(0,) * layers,
        maximum_context_tokens=131_072,
        small_parameters=hidden,
    )


LLAMA_8B = dense(32, 4096, (32, 8, 128), 14336, 128256)
LLAMA_2_7B = dense(32, 4096, (32, 32, 128), 11008, 32000)
QWEN_7B = dense(28, 3584, (28, 4, 128), 18944, 152064)


def placed(
    architecture: Architecture,
    engine: AnyEngine,
    *,
    weights: str = "gguf:Q4_K_M",
    context: int = 8192,
    gib: float = 24,
    gpus: int = 1,
    kv_cache: KvFormat = KvFormat.AUTO,
    host_ram_bytes: int | None = None,
) -> PlacementEstimate:
    """The estimate on *gpus* cards of *gib*."""
    size = int(gib * GIB)
    device = Device(card=None, physical_bytes=size, memory_bytes=size, memory_low_bytes=size, memory_high_bytes=size)
    workload = Inference(engine=engine, context_tokens=context, weights=weights, kv_cache=kv_cache)
    where = Placement(device=device, count=gpus, layout=Layout(tensor=gpus), host_ram_bytes=host_ram_bytes)
    estimate = estimate_serving(architecture, plain(), workload, (where,), calibration().serving)
    return estimate.placements[0]


def logged(estimate: PlacementEstimate) -> LlamaCppReserves:
    """The figures of the log."""
    assert isinstance(estimate.engine_reserves, LlamaCppReserves)
    return estimate.engine_reserves


def test_embedding_stays_in_ram_and_the_rest_on_the_gpu() -> None:
    """Llama-3.1-8B Q4_K_M: 4403.49 MiB on the GPU, 281.81 MiB in RAM (Ollama logs of 2024 and 2025)."""
    log = logged(placed(LLAMA_8B, LlamaCpp(n_ctx=8192)))
    assert log.devices[0].model_bytes / MIB == pytest.approx(4403.49, rel=0.002)
    assert log.host_model_bytes / MIB == pytest.approx(281.81, rel=0.002)


@pytest.mark.parametrize(
    ("architecture", "context", "expected"),
    [(LLAMA_8B, 8192, 560.0), (LLAMA_2_7B, 4096, 320.5), (LLAMA_8B, 1024, 266.5)],
)
def test_attention_matrix_rules_the_compute_buffer_without_flash_attention(
    architecture: Architecture, context: int, expected: float
) -> None:
    """Builds of 2024 without flash attention printed these compute buffers; the last is bound by the logits."""
    options = LlamaCpp(version="b3600", n_ctx=context, flash_attention=FlashAttention.OFF)
    log = logged(placed(architecture, options))
    assert log.devices[0].compute_bytes / MIB == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize(("context", "expected"), [(2048, 134.01), (4096, 136.01)])
def test_server_builds_since_june_2026_reserve_no_logits(context: int, expected: float) -> None:
    """Qwen2.5-7B in build 10357: feed-forward and mask alone decide."""
    log = logged(placed(QWEN_7B, LlamaCpp(version="b10357", n_ctx=context, n_parallel=1)))
    assert log.devices[0].compute_bytes / MIB == pytest.approx(expected, rel=0.005)


def test_wide_queries_cost_a_feed_forward_one_more_hidden_state() -> None:
    """Qwen3-4B, whose queries are wider than its hidden state, at 8192 tokens: 85.01 MiB in its log of October 2026."""
    model = dense(36, 2560, (32, 8, 128), 9728, 151936)
    log = logged(placed(model, LlamaCpp(n_ctx=8192)))
    assert log.devices[0].compute_bytes / MIB == pytest.approx(85.01, rel=0.005)


@pytest.mark.parametrize(
    ("hidden", "heads", "experts", "vocabulary", "expected"),
    [
        (2048, (16, 16, 128), Experts(experts=64, experts_per_token=8, width=1024), 50304, 64.09),
        (1536, (24, 8, 64), Experts(experts=40, experts_per_token=8, width=512), 49155, 61.04),
    ],
)
def test_what_experts_put_out_lies_in_the_gap_of_gate_and_up_where_it_fits(
    hidden: int, heads: tuple[int, int, int], experts: Experts, vocabulary: int, expected: float
) -> None:
    """OLMoE-1B-7B and granite-3.0-3b-a800m on an MI300X at 4096 tokens (gpustack/gguf-parser-go issue 45)."""
    queries, keys, size = heads
    attention = Attention(query_heads=queries, kv_heads=keys, head_size=size)
    model = Architecture(
        family="olmoe",
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        layer_groups=(LayerGroup(blocks=(attention, experts)),),
        layer_order=(0,) * 16,
    )
    options = LlamaCpp(version="b10357", n_ctx=4096, n_parallel=1, flash_attention=FlashAttention.ON)
    log = logged(placed(model, options, context=4096, kv_cache=KvFormat.Q8_0))
    assert log.devices[0].compute_bytes / MIB == pytest.approx(expected, rel=0.005)


def test_older_builds_reserve_logits_of_a_whole_micro_batch() -> None:
    """Llama-3.1-8B with flash attention at a short context: 512 × 128256 × 4 bytes and the hidden state, 258.5 MiB."""
    log = logged(placed(LLAMA_8B, LlamaCpp(version="b5192", n_ctx=2048, flash_attention=FlashAttention.ON)))
    assert log.devices[0].compute_bytes / MIB == pytest.approx(258.5, rel=0.03)


def test_quantised_cache_takes_blocks_of_34_bytes() -> None:
    """Llama-3.1-8B at 32768 tokens of q8_0: 32 layers × 2048 elements × 34/32 bytes."""
    log = logged(placed(LLAMA_8B, LlamaCpp(n_ctx=32768), kv_cache=KvFormat.Q8_0))
    assert log.devices[0].kv_cache_bytes == 32 * 2048 * 34 // 32 * 32768


@pytest.mark.parametrize(("slots", "cells"), [((1, False), 1536), ((4, True), 4608), ((4, False), 4 * 1536)])
def test_sliding_layers_keep_their_windows_and_one_micro_batch(slots: tuple[int, bool], cells: int) -> None:
    """Gemma-4-12B with a window of 1024 keeps 4608 cells for four slots on one cache, 1536 for one slot (its logs)."""
    sliding = Attention(query_heads=16, kv_heads=8, head_size=256, span=Span.SLIDING, window_tokens=1024)
    model = Architecture(
        family="gemma",
        hidden_size=3840,
        vocabulary_size=262144,
        layer_groups=(LayerGroup(blocks=(sliding, Dense(width=15360))),),
        layer_order=(0,) * 40,
        tied_embeddings=True,
        maximum_context_tokens=131072,
    )
    log = logged(placed(model, LlamaCpp(n_ctx=32768, n_parallel=slots[0], kv_unified=slots[1])))
    assert log.devices[0].kv_cache_sliding_bytes == 40 * 2 * 2048 * 2 * cells


def test_tied_embedding_lies_on_both_sides() -> None:
    """A tied matrix is the output on the GPU and the token table in RAM (Qwen3-4B Q4_K_M: 304.28 MiB in RAM)."""
    tied = dense(36, 2560, (32, 8, 128), 9728, 151936)
    both = Architecture(**{name: getattr(tied, name) for name in tied.__struct_fields__} | {"tied_embeddings": True})
    log = logged(placed(both, LlamaCpp(n_ctx=4096)))
    assert log.devices[0].model_bytes / MIB == pytest.approx(2375.91, rel=0.01)
    assert log.host_model_bytes / MIB == pytest.approx(304.28, rel=0.005)


def test_partial_offload_is_tight_at_best_and_says_what_it_costs() -> None:
    """Layers in RAM make a job tight however much room is left, with an estimate of the slowdown."""
    estimate = placed(LLAMA_8B, LlamaCpp(n_gpu_layers=20))
    notice = next(each for each in estimate.notices if each.code is NoticeCode.OFFLOAD)
    assert estimate.verdict is Verdict.TIGHT
    assert notice.params["times_slower_low"] > 2  # type: ignore[operator]
    assert logged(estimate).gpu_layers == 20


def test_a_model_without_weights_is_not_slowed_down() -> None:
    """A caller's model may have layers of nothing: there is nothing to read, from wherever."""
    hollow = Architecture(
        family="hollow", hidden_size=1024, vocabulary_size=0, layer_groups=(LayerGroup(blocks=()),), layer_order=(0,)
    )
    estimate = placed(hollow, LlamaCpp(n_gpu_layers=0), weights="bf16")
    notice = next(each for each in estimate.notices if each.code is NoticeCode.OFFLOAD)
    assert (notice.params["read_bytes"], notice.params["times_slower_high"]) == (0, 1.0)


def test_too_little_ram_for_what_is_offloaded_does_not_fit() -> None:
    """A machine whose RAM is smaller than the layers put there cannot run the job."""
    engine = LlamaCpp(n_gpu_layers=4)
    assert placed(LLAMA_8B, engine, host_ram_bytes=64 * GIB).verdict is Verdict.TIGHT
    refused = placed(LLAMA_8B, engine, host_ram_bytes=3 * GIB)
    assert (refused.verdict, refused.bound_by) == (Verdict.DOES_NOT_FIT, "host_ram")


MIXTURE = Architecture(
    family="qwen3_moe",
    hidden_size=2048,
    vocabulary_size=151936,
    layer_groups=(
        LayerGroup(
            blocks=(
                Attention(query_heads=32, kv_heads=4, head_size=128),
                Experts(experts=128, experts_per_token=8, width=768),
            ),
        ),
    ),
    layer_order=(0,) * 48,
    maximum_context_tokens=40960,
)


def test_experts_in_ram_by_count_and_by_pattern_are_the_same() -> None:
    """`-cmoe`, `-ncmoe 48` and the usual override leave 784.42 MiB of Qwen3-30B-A3B Q4_K_M on the GPUs (its log)."""
    ways = (
        LlamaCpp(experts_on_host=True),
        LlamaCpp(n_cpu_moe=48),
        LlamaCpp(override_tensors=(TensorOverride(pattern=r"\.ffn_(up|down|gate)_exps\."),)),
    )
    sizes = {logged(placed(MIXTURE, way, gib=80)).devices[0].model_bytes for way in ways}
    assert len(sizes) == 1
    assert sizes.pop() / MIB == pytest.approx(784.42, rel=0.05)


def test_an_override_that_repeats_groups_is_refused() -> None:
    """A pattern whose matching could take for ever is a fault at its place in the request."""
    with pytest.raises(Invalid) as caught:
        placed(MIXTURE, LlamaCpp(override_tensors=(TensorOverride(pattern="(a+)+$"),)))
    assert caught.value.faults[0].pointer == "/workload/engine/override_tensors/0/pattern"


def test_layers_are_split_over_cards_that_no_head_count_divides() -> None:
    """Three cards take whole layers each; the output is on the last."""
    estimate = placed(LLAMA_8B, LlamaCpp(n_ctx=8192), gpus=3)
    devices = logged(estimate).devices
    assert estimate.layout == Layout(pipeline=3)
    assert len(devices) == 3
    assert sum(device.model_bytes for device in devices) / MIB == pytest.approx(4403.49, rel=0.002)


def test_context_per_slot_is_named_where_requests_are_longer() -> None:
    """Four slots of their own share out -c: 8192 leaves 2048 to each, less than the request asks for."""
    estimate = placed(LLAMA_8B, LlamaCpp(n_ctx=8192, n_parallel=4, kv_unified=False), context=8192)
    assert NoticeCode.CONTEXT_BEYOND_SLOT in {notice.code for notice in estimate.notices}


def test_kin_of_llama_cpp_answer_with_its_figures() -> None:
    """Ollama and LM Studio reserve what their llama.cpp does: the same weights, a cache of the length given."""
    for engine in (Ollama(num_ctx=4096), LmStudio(context_length=4096)):
        log = logged(placed(LLAMA_8B, engine, context=4096))
        assert log.devices[0].model_bytes / MIB == pytest.approx(4403.49, rel=0.002)
        assert log.devices[0].kv_cache_bytes == 512 * MIB


def test_parts_add_up_to_the_total() -> None:
    """What a GPU holds is the sum of its parts."""
    part = placed(LLAMA_8B, LlamaCpp(n_ctx=16384, draft=Draft.MTP)).per_gpu
    parts = part.weights_bytes + part.kv_cache_bytes + part.recurrent_state_bytes
    assert parts + part.activations_bytes + part.overhead_bytes == part.total.expected_bytes


def test_the_longest_request_leaves_room_for_the_attention_matrix() -> None:
    """Without flash attention the compute buffer grows by heads × micro-batch × 4 bytes a token; at the length that is
    said to fit, the whole job does.
    """
    plainly = LlamaCpp(flash_attention=FlashAttention.OFF)
    longest = placed(LLAMA_8B, plainly, gib=12).max_context_tokens
    assert longest < placed(LLAMA_8B, LlamaCpp(), gib=12).max_context_tokens * 0.75
    there = placed(LLAMA_8B, plainly, gib=12, context=longest)
    assert 0 <= there.headroom_bytes < 200 * MIB
