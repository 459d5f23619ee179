"""Training speed beside operations counted by hand."""

from __future__ import annotations

import math

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.training.workload import Checkpointing, Method
from cardmatch.engine.speed.training import (
    Run,
    exchanged_seconds,
    executed_flops,
    gathered_tokens_per_second,
    model_flops,
    powers,
    run,
    summed_tokens_per_second,
    training_speed,
)
from tests.engine.speed.places import LLAMA_8B, QWEN_30B, chip

KNOWN = bundled().calibration.speed
LLAMA_MATRICES = 8_030_261_248 - 128_256 * 4096


def _run(method: Method = Method.FULL, checkpointing: Checkpointing = Checkpointing.NONE, gpus: int = 8) -> Run:
    return run(
        bundled().models[LLAMA_8B].architecture,
        framework="torchtune",
        method=method,
        precision="bf16",
        checkpointing=checkpointing,
        sequence_tokens=4096,
        micro_batch=2,
        gpus=gpus,
    )


def test_six_operations_a_parameter_and_twelve_a_layer_in_attention() -> None:
    """PaLM's appendix B: 6 N + 12 layers × width × sequence, a token; lookups multiply nothing."""
    assert model_flops(_run()) == pytest.approx(6 * LLAMA_MATRICES + 12 * 32 * 4096 * 4096, rel=1e-3)


def test_recomputing_repeats_the_forward_pass() -> None:
    """Full checkpointing executes a third more."""
    whole = executed_flops(_run(checkpointing=Checkpointing.FULL))
    assert whole == pytest.approx(4 / 3 * model_flops(_run()))


def test_frozen_weights_cost_two_operations_less() -> None:
    """LoRA keeps no gradients of the base weights."""
    spared = model_flops(_run()) - model_flops(_run(Method.LORA))
    assert spared == pytest.approx(2 * LLAMA_MATRICES, rel=1e-3)


def test_utilisation_is_a_share_of_the_data_sheet() -> None:
    """Published runs on A100s reach between a third and three quarters of 312 TFLOPS."""
    found = training_speed(_run(), chip("a100-sxm-80"), KNOWN)
    assert 0.33 < found.model_flops_utilisation < 0.75
    each = found.tokens_per_second_per_gpu
    assert found.tokens_per_second.expected == pytest.approx(8 * each.expected)
    assert each.low < each.expected < each.high


def test_sharded_weights_wait_for_a_slow_link() -> None:
    """16 GB gathered twice a pass of 2,048 tokens: PCIe 4 holds two L40S back, NVSwitch does not two A100s."""
    half = {"link/pcie": 0.5, "link/nvlink": 0.5}
    slow, fast = (
        gathered_tokens_per_second(_run(Method.LORA, gpus=2)._replace(gathered_bytes=32e9, tokens=2048), place, half)
        for place in (chip("l40s"), chip("a100-sxm-80"))
    )
    assert slow == pytest.approx(2048 * 31.5e9 / 2 / 16e9, rel=0.01)
    assert fast == pytest.approx(2048 * 300e9 / 2 / 16e9, rel=0.01)


def test_tensor_ranks_wait_for_their_sums() -> None:
    """Eight ranks: 2 × 7 × 4,096 elements × 2 bytes × 4 sums × 32 layers = 14.7 MB a token, at half of 450 GB/s."""
    apart, hidden = _run()._replace(tensor=8), _run()._replace(tensor=8, framework="megatron")
    half = {"train/exchange": 0.5}
    assert exchanged_seconds(apart, chip("h100-sxm-80"), half) == pytest.approx(14.68e6 / 225e9, rel=1e-3)
    assert exchanged_seconds(hidden, chip("h100-sxm-80"), half) == 0
    assert exchanged_seconds(_run(), chip("h100-sxm-80"), half) == 0


def test_experts_see_their_share_of_the_tokens() -> None:
    """Qwen3-30B-A3B: 8,192 tokens meet each of 128 experts, 768 wide, 512 at a time; an H100 has 295 FLOP a byte."""
    made = run(
        bundled().models[QWEN_30B].architecture,
        framework="megatron",
        method=Method.FULL,
        precision="bf16",
        checkpointing=Checkpointing.NONE,
        sequence_tokens=4096,
        micro_batch=2,
        gpus=16,
    )
    assert (made.matrix_tokens, made.matrix_width) == (512, 768)
    found = powers(made, chip("h100-sxm-80"))
    assert found["train/halving"] == pytest.approx(5)
    assert found["train/narrowing"] == pytest.approx(math.log2(4096 / 768))
    assert found["train/doubling"] == pytest.approx(1)
    assert found["train/balance"] == pytest.approx(math.log2(989.4 / 3.35 / 153), rel=1e-3)
    assert "train/balance" not in powers(made, chip("rtx-3090"))


def _spread(summed_bytes: float = 0.0, gathered_bytes: float = 0.0, accumulation: int = 1) -> Run:
    """Two machines of one GPU each, at 10 Gbit/s."""
    return _run(gpus=2)._replace(
        machines=2,
        network_bytes=1.25e9,
        summed_bytes=summed_bytes,
        gathered_bytes=gathered_bytes,
        accumulation=accumulation,
    )


def test_gradients_cross_the_network_twice_a_step() -> None:
    """A ring over M machines sends 2 (M - 1) / M of 16 GB: 12.8 s at 1.25 GB/s, for each step's 8,192 tokens."""
    h100, summed = chip("h100-sxm-80"), _spread(summed_bytes=16e9)
    assert summed_tokens_per_second(summed, h100, KNOWN.values) == pytest.approx(8192 / 12.8)
    assert training_speed(summed, h100, KNOWN).tokens_per_second_per_gpu.expected == pytest.approx(640)
    many = summed._replace(machines=11, gpus=11)
    assert summed_tokens_per_second(many, h100, KNOWN.values) == pytest.approx(8192 / (2 * 10 / 11 * 16e9 / 1.25e9))


def test_accumulation_hides_the_sum_of_gradients_but_no_gathered_weights() -> None:
    """A step of 32 passes sums once, and gathers 32 times."""
    h100 = chip("h100-sxm-80")
    once, often = (_spread(summed_bytes=16e9, accumulation=passes) for passes in (1, 32))
    rates = [summed_tokens_per_second(each, h100, KNOWN.values) for each in (once, often)]
    assert rates[1] == pytest.approx(32 * rates[0])
    gathered = [_spread(gathered_bytes=48e9, accumulation=passes) for passes in (1, 32)]
    assert len({gathered_tokens_per_second(each, h100, KNOWN.values) for each in gathered}) == 1
    assert gathered_tokens_per_second(gathered[0], h100, KNOWN.values) == pytest.approx(8192 / (24e9 / 1.25e9))


def test_weights_sharded_within_machines_do_not_cross_the_network() -> None:
    """Hybrid sharding gathers inside a machine only."""
    h100, afar = chip("h100-sxm-80"), _spread(gathered_bytes=48e9)
    near = afar._replace(gathers_afar=False)
    assert gathered_tokens_per_second(near, h100, KNOWN.values) > 10 * gathered_tokens_per_second(
        afar, h100, KNOWN.values
    )


def test_gradients_over_pcie_are_slower_than_over_nvlink() -> None:
    """Inside one machine the sum goes over what joins its cards."""
    inside = _run(gpus=2)._replace(summed_bytes=16e9)
    h100 = chip("h100-sxm-80")
    over = {
        link: summed_tokens_per_second(inside._replace(link=link), h100, KNOWN.values) for link in (Link.PCIE, None)
    }
    assert over[None] > 5 * over[Link.PCIE]
