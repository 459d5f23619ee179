"""Whatever is asked: every way to fit keeps its promise, and the largest that fits fits, one more not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cardmatch.engine.memory.training.frameworks import Framework
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.models.diffusion.component import Autoencoder
from cardmatch.engine.terms.fault import Invalid
from tests.invariants.changed import WORLD, ask, follow_ways, just_runs, spelled_out

GIB = 1 << 30
MODELS = sorted(WORLD.models)
EXAMPLES = settings(max_examples=150, deadline=None)


def _some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {name: st.just(value) if isinstance(value, str) else value for name, value in required.items()},
        optional=optional,
    )


occupied = {"occupied_bytes": st.sampled_from([0, 2 * GIB])}
single = _some({"card": st.sampled_from(["t4", "rtx-4090", "a100-sxm-40", "l40s", "h100-sxm-80"])}, occupied)
slices = _some({"card": "a100-sxm-40", "mig": st.sampled_from(["1g.5gb", "3g.20gb"])}, occupied)
several = _some(
    {"card": st.sampled_from(["rtx-4090", "a100-sxm-80"]), "count": st.sampled_from([2, 4, 8, 16, 64, 256, 1024])},
    occupied,
)
arranged = st.builds(
    lambda card, tensor, pipeline, data: {
        "card": card,
        "count": tensor * pipeline * data,
        "layout": {"tensor": tensor, "pipeline": pipeline, "data": data},
    },
    st.sampled_from(["rtx-4090", "a100-sxm-80"]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 4]),
    st.sampled_from([1, 2, 16]),
)
cards = st.one_of(single, slices, several, arranged)

training = _some(
    {"kind": "training", "method": st.sampled_from(["full", "lora", "qlora"])},
    {
        "framework": st.sampled_from([each.value for each in Framework]),
        "precision": st.sampled_from([each.value for each in Precision]),
        "optimizer": st.sampled_from([each.value for each in OptimizerName]),
        "optimizer_in_backward": st.booleans(),
        "sequence_tokens": st.sampled_from([1, 512, 4096, 32_768, 1_000_000]),
        "micro_batch": st.sampled_from([1, 3, 8, 64, 1024]),
        "gradient_accumulation_steps": st.sampled_from([1, 8]),
        "packing": st.booleans(),
        "gradient_checkpointing": st.sampled_from(["none", "selective", "full"]),
        "attention": st.sampled_from(["eager", "sdpa", "flash"]),
        "fused_loss": st.booleans(),
        "sharding": st.sampled_from(["none", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"]),
        "context_parallel": st.sampled_from([1, 2]),
        "offload": st.lists(st.sampled_from(["optimizer", "parameters", "activations"]), unique=True, max_size=3),
    },
)


def _answered(body: dict[str, Any]) -> dict[str, Any]:
    """The answer, its ways followed; requests that contradict themselves are passed over."""
    try:
        ask({**body, "ways_to_fit": False})
    except Invalid:
        assume(False)
    return follow_ways(body)


def _says_all(body: dict[str, Any]) -> None:
    """Asked with all that was assumed, the request is answered with the same figures, and nothing more is assumed."""
    try:
        first = ask({**body, "ways_to_fit": False})
    except Invalid:
        assume(False)
    second = ask({**spelled_out(body, first), "ways_to_fit": False})
    assert second["placements"] == first["placements"]
    assert not [each for each in second["assumptions"] if each["pointer"].startswith("/workload/")]


@EXAMPLES
@given(st.sampled_from(MODELS), training, cards)
def test_nothing_is_assumed_in_silence_of_training(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Every default that bears on the figures is among the assumptions."""
    _says_all({"model": model, "workload": workload, "cards": [card]})


@EXAMPLES
@given(st.sampled_from(MODELS), training, cards)
def test_training(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Any model, method, preset, optimizer and sharding, on a slice, a card or a thousand of them."""
    body = {"model": model, "workload": workload, "cards": [card]}
    found = _answered(body)["placements"][0]
    just_runs(body, "micro_batch", found["max_micro_batch"], 65_536)
    own = WORLD.models[model].architecture.maximum_context_tokens or 0
    asked = workload.get("sequence_tokens", min(2048, own or 2048))
    just_runs(body, "sequence_tokens", found["max_sequence_tokens"], max(own, asked))


diffusion = st.one_of(
    _some(
        {"kind": "diffusion", "task": "inference"},
        {
            "offload": st.sampled_from(["none", "model", "sequential", "group"]),
            "vae_tiling": st.booleans(),
            "vae_slicing": st.booleans(),
            "guidance": st.booleans(),
            "precision": st.sampled_from(["bf16", "fp16", "fp32"]),
            "batch": st.sampled_from([1, 2, 7, 64, 4096]),
            "width_pixels": st.sampled_from([64, 512, 1000, 2048, 16_384]),
            "attention": st.sampled_from(["eager", "sdpa"]),
        },
    ),
    _some(
        {"kind": "diffusion", "task": st.sampled_from(["lora", "full"])},
        {
            "gradient_checkpointing": st.booleans(),
            "optimizer": st.sampled_from([each.value for each in OptimizerName]),
            "precision": st.sampled_from([each.value for each in Precision]),
            "cache_latents": st.booleans(),
            "batch": st.sampled_from([1, 3, 64]),
            "height_pixels": st.sampled_from([64, 512, 1000, 2048]),
        },
    ),
)


@EXAMPLES
@given(st.sampled_from(list(WORLD.pipelines.rows)), diffusion, cards, st.sampled_from([1, 16, 81, 4096]))
def test_images_and_video(model: str, workload: dict[str, Any], card: dict[str, Any], frames: int) -> None:
    """Any pipeline, made with or tuned."""
    if WORLD.pipelines.rows[model].pipeline.medium == "video":
        workload = {**workload, "frames": frames}
    body = {"model": model, "workload": workload, "cards": [card]}
    largest = _answered(body)["placements"][0]["largest"]
    just_runs(body, "batch", largest["batch"], 4096)
    if largest["frames"] is not None:
        autoencoder = next(
            named.component
            for named in WORLD.pipelines.rows[model].pipeline.components
            if isinstance(named.component, Autoencoder)
        )
        just_runs(body, "frames", largest["frames"], 4096, autoencoder.temporal)


@EXAMPLES
@given(st.sampled_from(list(WORLD.pipelines.rows)), diffusion, cards)
def test_nothing_is_assumed_in_silence_of_images(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Every default that bears on the figures is among the assumptions."""
    _says_all({"model": model, "workload": workload, "cards": [card]})


encoding = st.one_of(
    _some(
        {"kind": "encode", "task": st.sampled_from(["embedding", "rerank"])},
        {
            "batch": st.sampled_from([1, 7, 64, 4096, 65_536]),
            "sequence_tokens": st.sampled_from([1, 64, 512, 8192, 131_072]),
            "attention": st.sampled_from(["eager", "flash"]),
        },
    ),
    _some(
        {"kind": "encode", "task": "speech"},
        {"batch": st.sampled_from([1, 7, 4096]), "beams": st.sampled_from([1, 5, 128]), "audio_seconds": st.just(3600)},
    ),
)


@EXAMPLES
@given(st.sampled_from(MODELS), encoding, cards)
def test_nothing_is_assumed_in_silence_of_encoders(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Every default that bears on the figures is among the assumptions."""
    name = "openai/whisper-large-v3" if workload["task"] == "speech" else model
    _says_all({"model": name, "workload": workload, "cards": [card]})


@EXAMPLES
@given(st.sampled_from(MODELS), encoding, cards)
def test_encoders(model: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Any model that reads, on texts of any length."""
    if workload["task"] == "speech":
        model = "openai/whisper-large-v3"
    body = {"model": model, "workload": workload, "cards": [card]}
    found = _answered(body)["placements"][0]
    just_runs(body, "batch", found["max_batch"], 65_536)
    if workload["task"] != "speech":
        own = WORLD.models[model].architecture.maximum_context_tokens or 1 << 20
        just_runs(body, "sequence_tokens", found["max_sequence_tokens"], own)


@pytest.mark.parametrize("offload", [["optimizer"], ["parameters", "optimizer"]])
def test_full_training_with_states_in_ram_is_answered(offload: list[str]) -> None:
    """The ways to fit once tried what the offload rules out, and the request was refused for it."""
    workload = {"kind": "training", "method": "full", "offload": offload}
    follow_ways({"model": "meta-llama/Llama-3.1-8B-Instruct", "workload": workload, "cards": ["l40s"]})


def test_a_slice_is_offered_the_whole_card() -> None:
    """8B in LoRA on 5 GB: a whole card, with the slice left out of the request."""
    body = {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "workload": {"kind": "training", "method": "lora"},
        "cards": [{"card": "a100-sxm-40", "mig": "1g.5gb"}],
    }
    changes = [way["changes"] for way in follow_ways(body)["placements"][0]["ways_to_fit"]]
    assert {"pointer": "/cards/0/mig", "value": None} in [each for found in changes for each in found]
