"""Encoders on the command line: `cardmatch estimate bge-m3 --encode embedding`, its options and its table."""

from __future__ import annotations

import argparse
from typing import Any

from cardmatch.answers.encode import EncodeAnswer
from cardmatch.cli import shorthand
from cardmatch.cli.estimated import estimated
from cardmatch.engine.memory.encode.answer import EncodePlacement
from cardmatch.engine.memory.encode.workload import EncodeTask
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals

_COLUMNS = (
    "weights", "kv_cache", "activations", "overhead", "budget", "max_batch", "max_sequence_tokens",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is encoded; --batch and --sequence say how much at once."""
    group = parser.add_argument_group("encoders", "with --encode")
    group.add_argument("--encode", choices=list(EncodeTask), metavar="TASK", help=", ".join(EncodeTask))
    group.add_argument("--audio-seconds", type=float, metavar="S", help="length of the recording (speech)")
    group.add_argument("--beams", type=shorthand.count, metavar="N", help="hypotheses of a beam search (speech)")


def workload(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload of POST /estimate-vram that the options describe."""
    return {
        "kind": "encode",
        "task": arguments.encode,
        "batch": arguments.batch,
        "sequence_tokens": arguments.sequence,
        "audio_seconds": arguments.audio_seconds,
        "beams": arguments.beams,
        "weights": arguments.weights,
        # Options of other workloads are passed on, so that they are refused as a request would be.
        "context_tokens": arguments.context,
        "concurrency": arguments.concurrency,
        "kv_cache": arguments.kv_cache,
    }


def in_words(answer: EncodeAnswer, language: Language) -> str:
    """The summary, a table of the placements, and the ways to fit."""
    return estimated(answer, answer.placements, _COLUMNS, _figures, language)


def _figures(placement: EncodePlacement, numbers: Numerals, _: Language) -> tuple[str, ...]:
    on = placement.per_gpu
    sizes = (on.weights_bytes, on.kv_cache_bytes, on.activations_bytes, on.overhead_bytes, placement.budget_bytes)
    most = (placement.max_batch, placement.max_sequence_tokens)
    return (*(numbers.gib(size) for size in sizes), *(numbers.integer(number) for number in most))
