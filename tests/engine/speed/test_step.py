"""Bytes and seconds of one pass, beside values worked out by hand from the models' papers and the data sheets."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import SINGLE, Layout
from cardmatch.engine.speed.serving import seat_pace
from cardmatch.engine.speed.step import attention_flops, covered, decode_work, prefill_work, timed
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
    """Qwen3-30B-A3B: 64 tokens that draw 8 of 128 experts each use 1 - (15/16)^64 = 98.4 % of them."""
    (experts,) = shape(QWEN_30B).experts
    assert covered(experts, 64) == pytest.approx(0.984, abs=5e-4)
    assert covered(experts, 1) == pytest.approx(8 / 128)


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
