"""The workload of a diffusion pipeline, as the request states it; what it leaves out has documented defaults."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.training.workload import AttentionKernel, Rank

Pixels = Annotated[int, Meta(ge=64, le=16_384)]
Images = Annotated[int, Meta(ge=1, le=4096, description="Images or videos made at once; of a training step, samples.")]
Frames = Annotated[int, Meta(ge=1, le=4096)]
ComponentName = Annotated[str, Meta(min_length=1, max_length=64)]
ComponentFormat = Annotated[
    str,
    Meta(
        pattern=r"^(bf16|fp16|fp32|fp8|fp8_layerwise|int8|int8_bnb|int4|nf4|nf4_dq|absent|gguf:[A-Z0-9_]{1,16})$(?!\n)",
        description="Number format of a component; `absent` leaves it off the GPU (cached or dropped).",
        examples=["nf4"],
    ),
]


class Task(StrEnum):
    """Making images, or training the denoiser: adapters over frozen weights, or every weight."""

    INFERENCE = "inference"
    LORA = "lora"
    FULL = "full"


class ComponentOffload(StrEnum):
    """What lies in host memory between its uses: whole components, single layers, or blocks of layers."""

    NONE = "none"
    MODEL = "model"
    SEQUENTIAL = "sequential"
    GROUP = "group"


class Diffusion(
    msgspec.Struct, tag="diffusion", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Making images or video with a pipeline, or fine-tuning its denoiser.

    `guidance: false` turns classifier-free guidance off, which halves the batch of most denoisers. `formats` says by
    component what is not in `precision`. The last group of fields is for training; `cache_latents` says that prompts
    and images were encoded beforehand, so that only the denoiser is on the GPU.
    """

    task: Task = Task.INFERENCE
    width_pixels: Pixels | None = None
    height_pixels: Pixels | None = None
    frames: Frames | None = None
    batch: Images | None = None
    denoise_steps: Annotated[int, Meta(ge=1, le=10_000, description="Without effect on memory.")] | None = None
    guidance: bool | None = None
    precision: Precision | None = None
    formats: Annotated[dict[ComponentName, ComponentFormat], Meta(max_length=16)] = {}
    offload: ComponentOffload = ComponentOffload.NONE
    vae_tiling: bool = False
    vae_slicing: bool = False
    attention: AttentionKernel | None = None
    lora_rank: Rank | None = None
    gradient_checkpointing: bool | None = None
    optimizer: OptimizerName | None = None
    cache_latents: bool | None = None
