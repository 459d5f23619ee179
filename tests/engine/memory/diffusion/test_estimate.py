"""What pipelines need, against published figures."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.placements import resolve_placement
from cardmatch.catalogue.pipelines import bundled_pipelines, named_pipeline
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.diffusion.answer import DiffusionEstimate
from cardmatch.engine.memory.diffusion.curves import PhaseName
from cardmatch.engine.memory.diffusion.estimate import estimate_diffusion
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.diffusion.component import Pipeline
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB

WORLD = bundled()
SQUARE: dict[str, Any] = {"width_pixels": 1024, "height_pixels": 1024}


def pipeline(name: str) -> Pipeline:
    """The bundled pipeline *name*."""
    row = named_pipeline(bundled_pipelines(), name)
    assert row is not None
    return row.pipeline


def estimate(name: str, card: str = "h100-sxm-80", *, ways: bool = False, **fields: Any) -> DiffusionEstimate:
    """The estimate of one card."""
    others = (resolve_placement(WORLD, "h200-sxm"),) if ways else ()
    return estimate_diffusion(
        pipeline(name),
        msgspec.convert(fields, Diffusion),
        (resolve_placement(WORLD, card),),
        WORLD.calibration.diffusion,
        alternatives=others,
    )


def peak_gib(name: str, kind: str = "allocated", **fields: Any) -> float:
    """The expected peak in GiB, by the counter *kind*."""
    found = estimate(name, **fields).placements[0]
    size: int = getattr(found.peaks, kind).expected_bytes
    return size / GIB


def test_flux_in_bf16_weighs_what_was_measured_after_loading() -> None:
    """31.438 GiB: torchao's table for FLUX.1-dev on one H100."""
    assert estimate("flux").need.weights_bytes / GIB == pytest.approx(31.438, abs=0.03)


@pytest.mark.parametrize(
    ("name", "fields", "measured_gib", "within"),
    [
        pytest.param("flux", SQUARE, 33.851, 0.05, id="FLUX.1-dev, torchao"),
        pytest.param("flux", {**SQUARE, "batch": 16}, 61.548, 0.05, id="FLUX.1-dev, 16 images, torchao"),
        pytest.param("sdxl", SQUARE, 10.47, 0.05, id="SDXL fp16, diffusers' documentation"),
        pytest.param("sdxl", {**SQUARE, "batch": 4}, 21.72, 0.05, id="SDXL fp16, 4 images"),
        pytest.param("sdxl", {**SQUARE, "formats": {"vae": "fp16"}}, 8.959, 0.05, id="SDXL with the fp16 fix"),
        pytest.param("sdxl", {**SQUARE, "precision": "fp32"}, 16.838, 0.05, id="SDXL fp32"),
        pytest.param("sdxl", {**SQUARE, "offload": "model"}, 5.206, 0.05, id="SDXL, model offload, RTX 3090"),
        pytest.param("sdxl", {**SQUARE, "offload": "sequential"}, 3.763, 0.06, id="SDXL, sequential offload"),
        pytest.param("sd3", SQUARE, 18.765, 0.05, id="SD3 medium"),
        pytest.param("cogvideox", {}, 31.742, 0.05, id="CogVideoX-5B, torchao on A100"),
        pytest.param(
            "hunyuan video",
            {"width_pixels": 768, "height_pixels": 512, "frames": 121},
            60.09,
            0.06,
            id="HunyuanVideo without any saving",
        ),
        pytest.param(
            "hunyuan video",
            {"width_pixels": 768, "height_pixels": 512, "frames": 121, "offload": "model"},
            28.87,
            0.05,
            id="HunyuanVideo, model offload",
        ),
    ],
)
def test_peaks_are_those_that_were_measured(
    name: str, fields: dict[str, Any], measured_gib: float, within: float
) -> None:
    """Figures of public benchmarks and guides, as PyTorch counts what is allocated."""
    assert peak_gib(name, **fields) == pytest.approx(measured_gib, rel=within)


def test_decoding_sdxl_takes_about_four_gib_a_megapixel() -> None:
    """3.75 GiB an image of 1024²: the slope from one image to four in the published SDXL table."""
    slope = (peak_gib("sdxl", **SQUARE, batch=4) - peak_gib("sdxl", **SQUARE)) / 3
    assert slope == pytest.approx(3.75, rel=0.05)


@pytest.mark.parametrize(("card", "verdict"), [("rtx-4090", "comfortable"), ("h100-sxm-80", "comfortable")])
def test_sdxl_at_small_batch_is_no_problem(card: str, verdict: str) -> None:
    """The buyers' guides: usually fine on 24 GB, no problem on an H100."""
    found = estimate("sdxl", card, **SQUARE).placements[0]
    assert found.verdict in {Verdict.FITS, Verdict(verdict)}
    assert found.largest.batch >= 2


def test_flux_in_bf16_does_not_load_on_an_l4() -> None:
    """The reference code ran out of memory there while loading (black-forest-labs/flux, 120)."""
    assert estimate("flux", "l4", **SQUARE).placements[0].verdict is Verdict.DOES_NOT_FIT


def test_the_parts_of_a_gpu_add_up() -> None:
    """Weights, gradients, activations and overhead are the total's expected bytes, whatever the job."""
    for fields in (SQUARE, {**SQUARE, "batch": 64}, {**SQUARE, "task": "full"}, {**SQUARE, "offload": "model"}):
        on = estimate("sdxl", "rtx-4090", **fields).placements[0].per_gpu
        parts = on.weights_bytes + on.gradients_bytes + on.activations_bytes + on.overhead_bytes
        assert parts == on.total.expected_bytes


def test_offload_is_tight_at_best_and_counts_host_memory() -> None:
    """With components in host memory the verdict is no better than tight."""
    found = estimate("flux", **SQUARE, offload="model").placements[0]
    assert found.verdict is Verdict.TIGHT
    assert found.host.ram_bytes == estimate("flux", **SQUARE).need.weights_bytes


def test_eight_bit_modules_cannot_be_offloaded() -> None:
    """A denoiser in bitsandbytes' int8 stays while others run: HunyuanVideo 35.66 GiB, more than in bf16."""
    size: dict[str, Any] = {"width_pixels": 768, "height_pixels": 512, "frames": 121, "offload": "model"}
    assert peak_gib("hunyuan video", **size, formats={"transformer": "int8_bnb"}) == pytest.approx(35.66, rel=0.08)


def test_tiling_and_slicing_bound_the_decoder() -> None:
    """Tiles bound a large picture, slices a batch; denoising or a tile is then the peak."""
    large: dict[str, Any] = {"width_pixels": 2048, "height_pixels": 2048}
    assert peak_gib("sdxl", **large, vae_tiling=True) < peak_gib("sdxl", **large) - 5
    assert peak_gib("sdxl", **SQUARE, batch=4, vae_slicing=True) < peak_gib("sdxl", **SQUARE, batch=4) - 5


def test_guidance_doubles_what_is_denoised() -> None:
    """Without classifier-free guidance half the activations are there while denoising."""
    on, off = (
        next(
            phase.activations_bytes
            for phase in estimate("sdxl", **SQUARE, guidance=guided).placements[0].phases
            if phase.phase is PhaseName.DENOISE
        )
        for guided in (True, False)
    )
    assert on == pytest.approx(2 * off, rel=0.01)


def test_plain_attention_grows_with_the_square_of_the_picture() -> None:
    """The scores of FLUX at 1024²: 24 heads of (4096)² pairs, with their softmax, in 16 bits."""
    plain, fused = (
        next(
            phase
            for phase in estimate("flux", **SQUARE, attention=kind).placements[0].phases
            if phase.phase == "denoise"
        )
        for kind in ("eager", "sdpa")
    )
    assert plain.activations_bytes - fused.activations_bytes == pytest.approx(2 * 24 * 4096**2 * 2, rel=0.01)


def test_lora_over_nf4_takes_a_third_of_bf16() -> None:
    """FLUX.1-dev at 512 × 768, published: about 9 GB over NF4, 26 GB over 16 bits."""
    size: dict[str, Any] = {
        "width_pixels": 512,
        "height_pixels": 768,
        "task": "lora",
        "lora_rank": 4,
        "optimizer": "adamw_8bit",
    }
    assert peak_gib("flux", "reserved", **size, formats={"transformer": "nf4"}) == pytest.approx(9, rel=0.15)
    assert peak_gib("flux", "reserved", **size) == pytest.approx(26, rel=0.15)


def test_full_training_counts_sixteen_bytes_a_parameter() -> None:
    """SDXL's UNet with fp32 parameters and AdamW: 4 + 4 + 8, and 2 of autocast copies."""
    need = estimate("sdxl", **SQUARE, task="full").need
    states = need.weights_bytes + need.gradients_bytes + need.optimizer_bytes
    assert states == pytest.approx(18 * 2_567_463_684, rel=0.001)
    assert need.trainable_parameters == 2_567_463_684


def test_stated_components_are_said_to_be_so() -> None:
    """Hunyuan-DiT's text encoders are known by a paper: basis rule_of_thumb, and a notice that names them."""
    found = estimate("hunyuandit")
    assert found.placements[0].per_gpu.total.basis is Basis.RULE_OF_THUMB
    assert [notice.code.value for notice in found.notices] == ["components_assumed"]
    assert estimate("sdxl").notices == ()


@pytest.mark.parametrize(
    ("name", "fields", "code", "pointer"),
    [
        ("sdxl", {"frames": 16}, FaultCode.FRAMES_OF_IMAGE_MODEL, "/workload/frames"),
        ("sdxl", {"formats": {"transformer": "nf4"}}, FaultCode.WRONG_VALUE, "/workload/formats/transformer"),
        ("sdxl", {"formats": {"unet": "gguf:Q9_9"}}, FaultCode.WRONG_VALUE, "/workload/formats/unet"),
        ("sdxl", {"formats": {"unet": "absent"}}, FaultCode.NO_DENOISER, "/workload/formats/unet"),
        ("sdxl", {"lora_rank": 8}, FaultCode.FIELD_OF_OTHER_TASK, "/workload/lora_rank"),
        ("sdxl", {"precision": "mixed_bf16"}, FaultCode.WRONG_VALUE, "/workload/precision"),
        ("sdxl", {"task": "lora", "vae_tiling": True}, FaultCode.FIELD_OF_OTHER_TASK, "/workload/vae_tiling"),
        ("sdxl", {"task": "lora", "offload": "model"}, FaultCode.FIELD_OF_OTHER_TASK, "/workload/offload"),
        (
            "flux",
            {"task": "full", "formats": {"transformer": "nf4"}},
            FaultCode.QUANTISED_DENOISER_NOT_TRAINABLE,
            "/workload/formats/transformer",
        ),
    ],
)
def test_contradictions_are_refused(name: str, fields: dict[str, Any], code: FaultCode, pointer: str) -> None:
    """Each with its pointer."""
    with pytest.raises(Invalid) as refused:
        estimate(name, **fields)
    assert (code, pointer) in {(fault.code, fault.pointer) for fault in refused.value.faults}
