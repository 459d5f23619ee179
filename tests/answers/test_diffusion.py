"""Images, video and encoders through the front door: names, kinds and words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.diffusion import DiffusionAnswer
from cardmatch.answers.encode import EncodeAnswer
from cardmatch.answers.estimate import AnyEstimate, EstimateRequest, estimate_vram
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.text.language import Language

TODAY = dt.date(2026, 11, 30)


def answer(body: dict[str, Any], language: Language = Language.EN) -> AnyEstimate:
    """The answer to a request body."""
    return estimate_vram(bundled(), msgspec.convert(body, EstimateRequest), language, TODAY)


def painted(model: Any, **workload: Any) -> DiffusionAnswer:
    """The answer to a diffusion workload."""
    found = answer({"model": model, "workload": {"kind": "diffusion", **workload}})
    assert isinstance(found, DiffusionAnswer)
    return found


def refused(model: Any, **workload: Any) -> tuple[str, FaultCode]:
    """Pointer and code of the first thing wrong."""
    with pytest.raises(Invalid) as wrong:
        answer({"model": model, "workload": workload})
    return wrong.value.faults[0].pointer, wrong.value.faults[0].code


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("sdxl", "stabilityai/stable-diffusion-xl-base-1.0"),
        ("SDXL 1.0", "stabilityai/stable-diffusion-xl-base-1.0"),
        ("sdxl + refiner", "stabilityai/stable-diffusion-xl-base-1.0+refiner"),
        ("sd 1.5", "runwayml/stable-diffusion-v1-5"),
        ("sd2.1", "stabilityai/stable-diffusion-2-1"),
        ("sd3.5", "stabilityai/stable-diffusion-3.5-large"),
        ("flux", "black-forest-labs/FLUX.1-dev"),
        ("FLUX.1-schnell", "black-forest-labs/FLUX.1-schnell"),
        ("stable cascade", "stabilityai/stable-cascade"),
        ("千问图像", "Qwen/Qwen-Image"),
        ("万相", "Wan-AI/Wan2.1-T2V-14B"),
        ("混元文生图", "Tencent-Hunyuan/HunyuanDiT-Diffusers"),
        ("混元视频", "tencent/HunyuanVideo"),
        ("可图", "Kwai-Kolors/Kolors"),
        ("cogvideox 5b", "THUDM/CogVideoX-5b"),
        ("ltx video", "Lightricks/LTX-Video"),
    ],
)
def test_pipelines_go_by_their_everyday_names(name: str, id_: str) -> None:
    """In English and Chinese, with and without their publisher."""
    assert painted(name).model.id == id_
    assert painted(id_).model.id == id_


def test_a_pipeline_may_be_given_by_its_components() -> None:
    """Configurations as they are, or numbers of parameters, which are said to be a rule of thumb."""
    vae = {"_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2}
    model = {"kind": "diffusion", "components": {"transformer": {"parameters": 12_000_000_000}, "vae": vae}}
    found = painted(model)
    assert found.model.id is None
    assert [each.basis.value for each in found.need.components] == ["rule_of_thumb", "exact"]
    assert found.notices[0].params == {"components": ["transformer"]}
    assert found.summary.startswith("The model holds")


def test_components_replace_those_of_a_named_pipeline() -> None:
    """A fine-tune with another text encoder, say."""
    model = {"kind": "diffusion", "pipeline": "flux", "components": {"text_encoder_2": {"parameters": 1_000_000_000}}}
    ours = {each.name: each.parameters for each in painted(model).need.components}
    theirs = {each.name: each.parameters for each in painted("flux").need.components}
    assert ours == {**theirs, "text_encoder_2": 1_000_000_000}


def test_a_language_model_is_not_asked_to_paint() -> None:
    """Nor a pipeline to chat, to be trained as a language model or to embed: 422 at /model."""
    wrong = ("/model", FaultCode.WRONG_KIND_OF_MODEL)
    assert refused("llama 3.1 8b", kind="diffusion") == wrong
    assert refused({"kind": "config", "config": {"model_type": "llama"}}, kind="diffusion") == wrong
    assert refused("sdxl", kind="inference") == wrong
    assert refused("flux", kind="training", method="lora") == wrong
    assert refused({"kind": "diffusion", "pipeline": "flux"}, kind="encode") == wrong


def test_frames_are_for_video_models() -> None:
    """422 with the pointer of the frames."""
    assert refused("sdxl", kind="diffusion", frames=16) == ("/workload/frames", FaultCode.FRAMES_OF_IMAGE_MODEL)


def test_other_names_and_descriptions_are_refused_where_they_are_wrong() -> None:
    """Unknown pipelines with suggestions, components by their pointer, layouts that split a model."""
    assert refused("fluxx devv", kind="diffusion") == ("/model", FaultCode.UNKNOWN_PIPELINE)
    assert refused({"kind": "diffusion"}, kind="diffusion") == ("/model", FaultCode.EXACTLY_ONE_OF)
    odd = {"kind": "diffusion", "components": {"thing": {"parameters": 5}}}
    assert refused(odd, kind="diffusion") == ("/model/components/thing", FaultCode.COMPONENT_UNKNOWN)
    bad = {"kind": "diffusion", "components": {"unet": {"_class_name": "UNet2DConditionModel"}}}
    assert refused(bad, kind="diffusion")[0] == "/model/components/unet"
    split = {"card": "rtx-4090", "count": 2, "layout": {"tensor": 2}}
    with pytest.raises(Invalid) as wrong:
        answer({"model": "flux", "workload": {"kind": "diffusion"}, "cards": [split]})
    assert wrong.value.faults[0].pointer == "/cards/0/layout"


def test_several_gpus_each_run_a_copy() -> None:
    """Two cards have the verdict of one."""
    body: dict[str, Any] = {"model": "sdxl", "workload": {"kind": "diffusion"}}
    found = answer({**body, "cards": ["rtx-4090", {"card": "rtx-4090", "count": 2}]})
    assert found.placements[0].verdict == found.placements[1].verdict
    assert found.placements[1].layout.data == 2


@pytest.mark.parametrize("language", Language)
def test_every_default_is_said_in_words(language: Language) -> None:
    """Nothing is assumed in silence, and no sentence is left in the spelling of the wire."""
    for model, workload in (
        ("hunyuan video", {"kind": "diffusion"}),
        ("flux", {"kind": "diffusion", "task": "lora"}),
        ("openai/whisper-large-v3", {"kind": "encode", "task": "speech"}),
        ("BAAI/bge-m3", {"kind": "encode"}),
    ):
        found = answer({"model": model, "workload": workload}, language)
        assert {each.pointer for each in found.assumptions} >= {"/workload/batch", "/cards", "/priced_on"}
        assert all("/workload" not in each.message for each in found.assumptions)
        assert found.ask_next is not None
        assert found.summary


def test_an_encoder_is_answered_like_any_other_model() -> None:
    """Embeddings of a catalogue model, on the cards of the buyers' guides."""
    found = answer({"model": "BAAI/bge-m3", "workload": {"kind": "encode", "batch": 32, "sequence_tokens": 8192}})
    assert isinstance(found, EncodeAnswer)
    assert {each.verdict.value for each in found.placements} <= {"fits", "comfortable"}
    assert found.need.kv_cache_bytes == 0


def test_too_little_ram_for_offloaded_components_is_said_in_ram() -> None:
    """FLUX.1 [dev] in 16 bits is 31.4 GiB: a machine of 16 GB lacks 16.5, however small the picture."""
    card = {"card": "rtx-4090", "host_ram_bytes": 16 * 10**9}
    body = {"model": "flux dev", "workload": {"kind": "diffusion", "offload": "model"}, "cards": [card]}
    found = answer(body)
    assert isinstance(found, DiffusionAnswer)
    assert "lacks 16.5" in found.summary
    assert (found.placements[0].largest.batch, found.placements[0].largest.width_pixels) == (0, 0)
    change = found.placements[0].ways_to_fit[-1].changes[0]
    assert change.pointer == "/cards/0/host_ram_bytes"
    again = answer(body | {"cards": [card | {"host_ram_bytes": change.value}]})
    assert isinstance(again, DiffusionAnswer)
    assert again.placements[0].verdict.value == "tight"


def test_what_is_missing_is_what_the_summary_says_less_the_budget() -> None:
    """FLUX on 24 GB: its weights and activations alone left some GiB unexplained."""
    found = answer({"model": "flux", "workload": {"kind": "diffusion"}, "cards": ["rtx-4090"]})
    assert isinstance(found, DiffusionAnswer)
    (placement,) = found.placements
    least = placement.peaks.allocated.expected_bytes + bundled().calibration.diffusion.context_bytes.value
    assert f"at least {least / (1 << 30):.2f} GiB" in found.summary
    assert -placement.headroom_bytes == pytest.approx(least - placement.budget_bytes, abs=2)
