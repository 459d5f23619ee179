"""Encoders on the command line: `cardmatch estimate bge-m3 --encode embedding`, its options and its table."""

from __future__ import annotations

import argparse
from typing import Any

from cardmatch.answers.encode import EncodeAnswer
from cardmatch.cli import shorthand
from cardmatch.cli.output import table
from cardmatch.engine.memory.encode.answer import EncodePlacement
from cardmatch.engine.memory.encode.workload import EncodeTask
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import word

_COLUMNS = (
    "cards", "verdict", "weights", "kv_cache", "activations", "overhead", "budget", "max_batch", "max_sequence_tokens",
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
    numbers = numerals(language)
    rows = [
        (
            _label(placement),
            word("verdict", placement.verdict, language),
            *(numbers.gib(size) for size in _sizes(placement)),
            numbers.integer(placement.max_batch),
            numbers.integer(placement.max_sequence_tokens),
        )
        for placement in answer.placements
    ]
    heads = [word("column", column, language) for column in _COLUMNS]
    ways = [f"  {_label(placement)}: {way.message}" for placement in answer.placements for way in placement.ways_to_fit]
    notices = [notice.message for notice in answer.notices]
    return "\n".join([answer.summary, "", table(heads, rows, word("column", "unit", language)), *ways, *notices])


def _sizes(placement: EncodePlacement) -> tuple[int, ...]:
    on = placement.per_gpu
    return on.weights_bytes, on.kv_cache_bytes, on.activations_bytes, on.overhead_bytes, placement.budget_bytes


def _label(placement: EncodePlacement) -> str:
    return f"{placement.count}× {placement.card or '–'}{' ' + placement.mig if placement.mig else ''}"
