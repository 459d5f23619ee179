"""Bytes and seconds of one pass, beside values worked out by hand from the models' papers and the data sheets."""

from __future__ import annotations

import math

import msgspec
import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import SINGLE, Layout
from cardmatch.engine.speed.pace import EngineKind
from cardmatch.engine.speed.serving import seat_pace
from cardmatch.engine.speed.step import attention_flops, covered, decode_work, link_seconds, prefill_work, timed
from tests.engine.speed.places import LLAMA_70B, QWEN_30B, chip, seat, shape


def test_a_step_reads_all_weights_but_the_lookup_table() -> None:
    """Llama 3.1 8B: 8,030,261,248 parameters, 128,256 × 4,096 of them embeddings; 2 bytes each in bf16."""
    work = decode_work(shape(), SINGLE, batch=1, context=0)
    assert work.weights_bytes == pytest.approx(2 * (8_030_261_248 - 128_256 * 4096), rel=1e-6)


def test_each_request_reads_its_own_cache() -> None:
    """Llama 3.1 8B caches 2 × 32 layers × 8 heads × 128 elements × 2 bytes = 131,072 bytes a token."""
    work = decode_work(shape(), SINGLE, batch=3, context=1000)
    assert work.cache_bytes == 3 * 1000 * 131_072


def test_tensor_ranks_add_up_two_partial_sums_a_layer() -> None:
    """Llama 3 70B over eight GPUs: 2 sums × 80 layers × 2 × 7/8 × 8,192 elements × 2 bytes a token (a ring)."""
    work = decode_work(shape(LLAMA_70B), Layout(tensor=8), batch=1, context=100)
    assert work.sent_bytes == pytest.approx(2 * 80 * 2 * 7 / 8 * 8192 * 2)
    assert work.exchanges == 160
    assert work.ring_hops == 160 * 2 * 7


def test_a_switch_adds_up_in_one_hop_and_a_ring_in_two_for_each_neighbour() -> None:
    """Eight GPUs, one token: 160 sums of 9 µs over NVLink, of 14 hops over PCIe."""
    model, known = shape(LLAMA_70B, "fp8"), bundled().calibration.speed
    where = seat("h100-sxm-80", layout=Layout(tensor=8))
    work = decode_work(model, where.layout, 1, 100)._replace(sent_bytes=0.0)
    for link, hops in ((Link.NVSWITCH, 160), (Link.PCIE, 160 * 14)):
        pace = seat_pace(model, msgspec.structs.replace(where, link=link), known)
        assert link_seconds(work, pace) == pytest.approx(hops * pace.hop_seconds)


def test_a_later_slot_does_not_speed_up_the_way_through_the_host() -> None:
    """PCIe 5.0 x16 moves 63 GB/s; ranks that meet in host memory get no more than 4.0's 31.5."""
    assert chip("rtx-5090").link(4)[1] == pytest.approx(31.5e9, rel=1e-3)
    assert chip("t4").link(2)[1] == pytest.approx(15.76e9, rel=1e-3)


def test_the_cycles_of_a_card_are_those_of_its_multiprocessors() -> None:
    """A100: 108 at 1.41 GHz; RTX 4090: 128 at 2.52 GHz; a 3g slice of an A100 has three sevenths."""
    assert chip("a100-sxm-80").cycles == pytest.approx(108 * 1.41e9, rel=0.01)
    assert chip("rtx-4090").cycles == pytest.approx(128 * 2.52e9, rel=0.01)
    assert chip("a100-sxm-80", "3g.40gb").cycles == pytest.approx(108 * 1.41e9 * 3 / 7, rel=0.01)


def test_unpacking_bounds_llama_cpp_on_fast_memory() -> None:
    """One stream of packed weights: an H200 has 4.8 times the bandwidth of an RTX 4090 and 0.8 times its cycles."""
    model, known = shape(weights="gguf:Q4_K_M"), bundled().calibration.speed
    seconds = []
    for card in ("rtx-4090", "h200-sxm"):
        pace = seat_pace(model, seat(card, engine=EngineKind.LLAMA_CPP), known)
        seconds.append(timed(decode_work(model, SINGLE, 1, 100), pace).memory_seconds)
    assert 1 < seconds[0] / seconds[1] < 2.4
    served = seat_pace(shape(), seat("h200-sxm"), known)
    assert served.unpacked_bytes_per_second == math.inf


def test_a_layer_of_llama_launches_eighteen_kernels() -> None:
    """Attention twelve, feed-forward six; experts need a router and sums besides, so Qwen3's layers launch 24."""
    assert shape().launches == 32 * 18
    assert shape(QWEN_30B).launches == 48 * 24


def test_one_gpu_sends_nothing() -> None:
    """A link makes no difference to a model that fits on one card."""
    assert decode_work(shape(), SINGLE, 16, 1000).sent_bytes == 0
    assert prefill_work(shape(), SINGLE, 1000).sent_bytes == 0


def test_tensor_parallelism_needs_the_fast_link() -> None:
    """The same 70B on the same eight cards: exchanges take several times longer over PCIe than over NVLink."""
    model, known = shape(LLAMA_70B, "fp8"), bundled().calibration.speed
    where = seat("h100-sxm-80", layout=Layout(tensor=8))
    work = decode_work(model, where.layout, 64, 1000)
    fast = timed(work, seat_pace(model, where, known))
    slow_seat = type(where)(
        **{name: getattr(where, name) for name in ("engine", "chip", "layout", "slots")}, link=Link.PCIE
    )
    slow = timed(work, seat_pace(model, slow_seat, known))
    assert slow.link_seconds > 3 * fast.link_seconds
    assert slow.memory_seconds == fast.memory_seconds


def test_a_batch_uses_most_experts() -> None:
    """Qwen3-30B-A3B draws 8 of 128 experts: 64 tokens use 1 - 15/16 (1 + 63/32)^-2 = 89.4 %; evenly it were 98.4 %."""
    (experts,) = shape(QWEN_30B).experts
    assert covered(experts, 64) == pytest.approx(0.8936, abs=5e-5)
    assert covered(experts, 1) == pytest.approx(8 / 128)
    assert covered(experts, 100_000) == pytest.approx(1.0, abs=1e-4)


def test_attention_grows_with_the_square_of_the_prompt() -> None:
    """Llama 3 8B: a token multiplies 4 × 32 layers × 4,096 with each earlier one (scores and values, two each)."""
    assert attention_flops(shape(), 1000) == pytest.approx(4 * 32 * 4096 * 1000)


def test_a_slice_gets_its_share_of_units_and_bandwidth() -> None:
    """A100 3g.40gb: 3 of 7 compute slices and half of the memory slices; links are off between slices."""
    whole, part = chip("a100-sxm-80"), chip("a100-sxm-80", "3g.40gb")
    assert part.share == pytest.approx(3 / 7)
    assert part.bandwidth_bytes == pytest.approx(whole.bandwidth_bytes / 2)
    assert part.link(2)[0] == "pcie"


def test_a_decode_step_is_bound_by_memory_and_a_prefill_by_arithmetic() -> None:
    """One stream on an H100 reads 15 GB of weights per token in no less than 4.5 ms; prompts multiply."""
    model, where = shape(), seat("h100-sxm-80")
    pace = seat_pace(model, where, bundled().calibration.speed)
    step = timed(decode_work(model, SINGLE, 1, 100), pace)
    assert step.memory_seconds > 10 * step.compute_seconds
    assert step.seconds > 15.01e9 / 3350e9
    prefill = timed(prefill_work(model, SINGLE, 1000), pace)
    assert prefill.seconds > 2 * 7.5e9 * 1000 / 989.4e12
