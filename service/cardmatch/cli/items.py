"""Pictures, texts and recordings on the command line: `cardmatch recommend sdxl --images 50k --deadline-hours 10`."""

from __future__ import annotations

import argparse
from typing import Any

from cardmatch.cli import shorthand
from cardmatch.cli.diffusion import component_format, sides
from cardmatch.cli.output import given
from cardmatch.engine.memory.encode.workload import EncodeTask

RATES = ("images_per_hour", "images_per_second", "items_per_second", "items_per_hour")


def add_rates(load: argparse._MutuallyExclusiveGroup) -> None:
    """How many pictures, texts or recordings keep coming."""
    for name in RATES:
        load.add_argument(f"--{name.replace('_', '-')}", type=shorthand.quantity, metavar="N")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many there are in all, by when, and what each is."""
    job = parser.add_argument_group("work that ends")
    job.add_argument("--images", type=shorthand.count, metavar="N", help="pictures or videos to make")
    job.add_argument("--items", type=shorthand.count, metavar="N", help="texts, pairs, recordings or requests")
    job.add_argument("--deadline-hours", type=shorthand.quantity, metavar="H")
    made = parser.add_argument_group("pictures and videos", "for pipelines such as sdxl, flux, wan")
    made.add_argument("--image", type=sides, metavar="WxH", help="pixels of a picture, such as 1024x1024")
    made.add_argument("--frames", type=shorthand.count, metavar="N", help="frames of a video")
    made.add_argument("--steps", type=shorthand.count, metavar="N", help="denoising steps of a picture")
    made.add_argument("--format", action="append", type=component_format, metavar="COMPONENT=FORMAT")
    made.add_argument("--no-guidance", action="store_true", help="no classifier-free guidance")
    read = parser.add_argument_group("encoders", "for embeddings, rerankers and Whisper")
    read.add_argument("--encode", choices=list(EncodeTask), metavar="TASK", help=", ".join(EncodeTask))
    read.add_argument("--sequence", type=shorthand.tokens, metavar="N", help="tokens of the longest text")
    read.add_argument("--audio-seconds", type=shorthand.quantity, metavar="S", help="length of a recording")
    read.add_argument("--beams", type=shorthand.count, metavar="N", help="hypotheses of a beam search")
    parser.add_argument("--batch", type=shorthand.count, metavar="N", help="pictures or texts at once")
    parser.add_argument("--offload", action="store_true", help="allow what waits in system RAM")
    parser.add_argument("--p95-latency-seconds", type=shorthand.quantity, metavar="S")
    parser.add_argument("--max-usd-total", type=shorthand.quantity, metavar="USD", help="of a job")


def job_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The job of POST /recommend that the options describe."""
    return given(images=arguments.images, items=arguments.items, deadline_hours=arguments.deadline_hours)


def workload_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload that the options describe; empty where none of them is given."""
    width, height = arguments.image or (None, None)
    pictures = given(
        width_pixels=width,
        height_pixels=height,
        frames=arguments.frames,
        denoise_steps=arguments.steps,
        formats=dict(arguments.format) if arguments.format else None,
        guidance=False if arguments.no_guidance else None,
    )
    texts = given(
        task=arguments.encode,
        sequence_tokens=arguments.sequence,
        audio_seconds=arguments.audio_seconds,
        beams=arguments.beams,
    )
    found = pictures | texts  # together they are refused as a request would be
    if found:
        found["kind"] = "diffusion" if pictures else "encode"
    return found | given(batch=arguments.batch)
