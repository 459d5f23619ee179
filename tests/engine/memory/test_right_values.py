"""Whole estimates against figures that logs and guides give: what is needed, what fits, and what would."""

from __future__ import annotations

import pytest

from cardmatch.answers.placements import alternatives
from cardmatch.catalogue.calibration import calibration
from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate, WayToFit
from cardmatch.engine.memory.device import whole_device
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.estimate import ServingEstimate, estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, plain, requantised
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import LLAMA_2_13B, LLAMA_8B, LLAMA_70B, MISTRAL_7B, QWEN3_32B

BF16, FP16 = plain(), plain(Dtype.FP16)
GOOD = {Verdict.COMFORTABLE, Verdict.FITS}


def estimate(
    model: Architecture,
    checkpoint: Checkpoint,
    workload: Inference,
    *cards: str,
    tensor: int = 1,
    ways: bool = False,
) -> ServingEstimate:
    """*workload* on catalogue *cards*."""
    world = bundled()
    layout = Layout(tensor=tensor)
    where = tuple(Placement(device=whole_device(world.cards[card]), count=tensor, layout=layout) for card in cards)
    others = alternatives(world) if ways else ()
    return estimate_serving(model, checkpoint, workload, where, calibration().serving, alternatives=others)


def placed(model: Architecture, checkpoint: Checkpoint, workload: Inference, card: str) -> PlacementEstimate:
    """The estimate on one card."""
    return estimate(model, checkpoint, workload, card).placements[0]


def values(ways: tuple[WayToFit, ...]) -> list[set[object]]:
    """The values that each way sets."""
    return [{change.value for change in way.changes} for way in ways]


def test_sixteen_long_requests_of_an_8b_model_queue_on_a_4090_and_run_on_an_h100() -> None:
    """Llama-3.1-8B needs 16.06 GB of weights, and 16 requests of 8,192 tokens 16 GiB of cache."""
    workload = Inference(context_tokens=8192, concurrency=16)
    found = estimate(LLAMA_8B, BF16, workload, "rtx-4090", "h100-sxm-80")
    assert found.need.weights_bytes == 16_060_522_496
    assert found.need.kv_cache_bytes == 16 * GIB
    assert found.kv_cache.bytes_per_token == 131_072
    assert found.placements[0].verdict is Verdict.QUEUES
    assert found.placements[1].verdict in GOOD


def test_a_4_bit_70b_model_is_split_over_two_cards() -> None:
    """Llama-3.1-70B AWQ: 37.04 GiB of weights and 20.0 of cache for eight requests of 8,192, 10.0 on each of two."""
    checkpoint = requantised(LLAMA_70B, FP16, "awq_int4")
    workload = Inference(context_tokens=8192, concurrency=8)
    found = estimate(LLAMA_70B, checkpoint, workload, "a100-sxm-40", tensor=2)
    assert found.need.weights_bytes / GIB == pytest.approx(37.04, abs=0.01)
    assert found.need.kv_cache_bytes / GIB == 20.0
    assert found.placements[0].per_gpu.kv_cache_bytes / GIB == 10.0


@pytest.mark.parametrize(
    ("model", "checkpoint", "tensor", "logged"),
    [
        (QWEN3_32B, BF16, 1, 61.03),
        (QWEN3_32B, BF16, 2, 30.59),
        (LLAMA_70B, requantised(LLAMA_70B, BF16, "fp8"), 1, 67.72),
        (LLAMA_2_13B, FP16, 1, 24.24),
    ],
)
def test_weights_per_gpu_are_what_the_log_prints(
    model: Architecture, checkpoint: Checkpoint, tensor: int, logged: float
) -> None:
    """“Model loading took … GiB” of public vLLM logs, within half a per cent."""
    found = estimate(model, checkpoint, Inference(), "h100-sxm-80", tensor=tensor)
    assert found.placements[0].per_gpu.weights_bytes / GIB == pytest.approx(logged, rel=0.005)


def test_13b_at_16_bits_needs_8_bits_on_24_gb() -> None:
    """24.24 GiB of weights do not fit a 4090, whatever the guides say; the first way to fit names an 8-bit format."""
    found = estimate(LLAMA_2_13B, FP16, Inference(context_tokens=4096), "rtx-4090", ways=True).placements[0]
    assert found.verdict is Verdict.DOES_NOT_FIT
    assert values(found.ways_to_fit)[0] <= {"fp8", "int8"}
    assert found.ways_to_fit[0].verdict in GOOD


def test_7b_at_16_bits_fits_24_gb() -> None:
    """Mistral-7B with one request of 8,192 tokens on a 4090."""
    assert placed(MISTRAL_7B, BF16, Inference(context_tokens=8192), "rtx-4090").verdict in GOOD


def awq(model: Architecture) -> Checkpoint:
    """*model* in 4 bits."""
    return requantised(model, FP16, "awq_int4")


LEAN = Vllm(gpu_memory_utilization=0.98, max_num_seqs=2, max_num_batched_tokens=512, enforce_eager=True)


@pytest.mark.parametrize(
    ("model", "checkpoint", "engine", "context", "card", "verdicts"),
    [
        # SEED-FACTS 5: 24 GB for 7B to 13B and quantised 30B; 40 GB for 13B at 16 bits; 80 GB for 70B in fewer.
        (MISTRAL_7B, BF16, Vllm(), 8192, "rtx-4090", GOOD),
        (LLAMA_2_13B, FP16, Vllm(), 4096, "rtx-4090", {Verdict.DOES_NOT_FIT}),
        (LLAMA_2_13B, requantised(LLAMA_2_13B, FP16, "int8"), Vllm(), 4096, "rtx-4090", GOOD),
        (QWEN3_32B, awq(QWEN3_32B), Vllm(), 2048, "rtx-4090", GOOD | {Verdict.TIGHT}),
        (LLAMA_2_13B, FP16, Vllm(), 4096, "a100-sxm-40", GOOD),
        (LLAMA_70B, awq(LLAMA_70B), Vllm(), 8192, "a100-sxm-40", {Verdict.DOES_NOT_FIT}),
        (LLAMA_70B, awq(LLAMA_70B), LEAN, 2048, "a100-sxm-40", {Verdict.TIGHT}),
        (LLAMA_70B, awq(LLAMA_70B), Vllm(), 8192, "a100-sxm-80", GOOD),
        (LLAMA_70B, requantised(LLAMA_70B, BF16, "fp8"), Vllm(), 8192, "h100-sxm-80", {Verdict.DOES_NOT_FIT}),
        (LLAMA_70B, requantised(LLAMA_70B, BF16, "fp8"), Vllm(max_num_seqs=64), 4096, "h100-nvl-94", GOOD),
        # SEED-FACTS 6: 7B at 16 bits fine and comfortable, 13B fine on the larger card, 70B only where it is resident.
        (MISTRAL_7B, BF16, Vllm(), 8192, "h100-sxm-80", {Verdict.COMFORTABLE}),
        (LLAMA_2_13B, FP16, Vllm(), 4096, "h100-sxm-80", GOOD),
        (LLAMA_70B, awq(LLAMA_70B), Vllm(), 8192, "rtx-4090", {Verdict.DOES_NOT_FIT}),
        (LLAMA_70B, awq(LLAMA_70B), Vllm(), 8192, "h100-sxm-80", GOOD),
        (MISTRAL_7B, BF16, Transformers(), 8192, "rtx-4090", GOOD),
    ],
)
def test_the_guides_fit_tables_hold_where_their_settings_are_said(
    model: Architecture,
    checkpoint: Checkpoint,
    engine: AnyEngine,
    context: int,
    card: str,
    verdicts: set[Verdict],
) -> None:
    """Each cell is one request with its precision, engine and length, and the honest verdict (SEED-FACTS 5 and 6)."""
    workload = Inference(engine=engine, context_tokens=context)
    assert placed(model, checkpoint, workload, card).verdict in verdicts


def test_concurrency_presses_on_the_cache_of_a_small_card_first() -> None:
    """SEED-FACTS 6: 64 requests of 4,096 tokens of a 7B model queue on 24 GB and run on 80 GB."""
    workload = Inference(context_tokens=4096, concurrency=64)
    small, large = estimate(MISTRAL_7B, BF16, workload, "rtx-4090", "h100-sxm-80").placements
    assert small.verdict is Verdict.QUEUES
    assert small.max_concurrency < 64
    assert large.verdict in GOOD
