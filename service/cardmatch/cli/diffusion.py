"""Pictures on the command line: `cardmatch estimate sdxl --image 1024x1024`, its options and its table."""

from __future__ import annotations

import argparse
import re
from typing import Any

from cardmatch.answers.diffusion import DiffusionAnswer
from cardmatch.cli import shorthand
from cardmatch.cli.estimated import estimated
from cardmatch.engine.memory.diffusion.answer import DiffusionPlacement
from cardmatch.engine.models.diffusion.component import Medium
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals
from cardmatch.text.sentences import word

_COLUMNS = ("peaks_in", "weights", "activations", "overhead", "budget", "max_batch", "max_size")
_SIDES = re.compile(r"(\d{1,5})\s*[x×X]\s*(\d{1,5})", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is made, or with --train what the denoiser is tuned on."""
    group = parser.add_argument_group("images and video", "for pipelines such as sdxl, flux, wan; with --train, tuning")
    group.add_argument("--image", type=sides, metavar="WxH", help="pixels of a picture, such as 1024x1024")
    group.add_argument("--frames", type=shorthand.count, metavar="N", help="frames of a video")
    group.add_argument("--batch", type=shorthand.count, metavar="N", help="pictures (or texts to encode) at once")
    group.add_argument(
        "--format", action="append", type=component_format, metavar="COMPONENT=FORMAT", help="transformer=nf4"
    )
    group.add_argument("--vae-tiling", action="store_true", help="decode tile by tile")
    group.add_argument("--vae-slicing", action="store_true", help="decode one picture at a time")
    group.add_argument("--no-guidance", action="store_true", help="no classifier-free guidance")


def workload(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload of POST /estimate-vram that the options describe."""
    width, height = arguments.image or (None, None)
    offload = arguments.offload[0] if arguments.offload and len(arguments.offload) == 1 else arguments.offload
    checkpointing = None if arguments.checkpointing is None else arguments.checkpointing != "none"
    return {
        "kind": "diffusion",
        "task": arguments.train,
        "width_pixels": width,
        "height_pixels": height,
        "frames": arguments.frames,
        "batch": arguments.batch,
        "formats": dict(arguments.format) if arguments.format else None,
        "vae_tiling": arguments.vae_tiling or None,
        "vae_slicing": arguments.vae_slicing or None,
        "guidance": False if arguments.no_guidance else None,
        "precision": arguments.precision,
        "optimizer": arguments.optimizer,
        "lora_rank": arguments.rank,
        "gradient_checkpointing": checkpointing,
        "offload": offload,
        # Options of other workloads are passed on, so that they are refused as a request would be.
        "context_tokens": arguments.context,
        "concurrency": arguments.concurrency,
        "sequence_tokens": arguments.sequence,
        "micro_batch": arguments.micro_batch,
        "weights": arguments.weights,
        "kv_cache": arguments.kv_cache,
    }


def in_words(answer: DiffusionAnswer, language: Language) -> str:
    """The summary, a table of the placements, and the ways to fit."""
    columns = _COLUMNS if answer.model.medium is Medium.IMAGE else (*_COLUMNS, "max_frames")
    return estimated(answer, answer.placements, columns, _figures, language)


def _figures(placement: DiffusionPlacement, numbers: Numerals, language: Language) -> tuple[str, ...]:
    on, most = placement.per_gpu, placement.largest
    sizes = (on.weights_bytes + on.gradients_bytes, on.activations_bytes, on.overhead_bytes, placement.budget_bytes)
    return (
        word("phase", placement.bound_by, language),
        *(numbers.gib(size) for size in sizes),
        numbers.integer(most.batch),
        f"{most.width_pixels}×{most.height_pixels}",
        *(() if most.frames is None else (numbers.integer(most.frames),)),
    )


def sides(text: str) -> tuple[int, int]:
    """Width and height. Raises argparse.ArgumentTypeError."""
    found = _SIDES.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, such as 1024x1024")
    return int(found[1]), int(found[2])


def component_format(text: str) -> tuple[str, str]:
    """A component and its format. Raises argparse.ArgumentTypeError."""
    name, equals, kind = text.partition("=")
    if not (name and equals and kind):
        raise argparse.ArgumentTypeError(f"{text!r} is not COMPONENT=FORMAT, such as transformer=nf4")
    return name.strip(), kind.strip()
