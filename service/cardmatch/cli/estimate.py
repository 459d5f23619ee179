"""`cardmatch estimate`: does a model fit, as a table or as the JSON of POST /estimate-vram."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.answers.diffusion import DiffusionAnswer
from cardmatch.answers.encode import EncodeAnswer
from cardmatch.answers.estimate import AnyEstimate, Estimate, EstimateRequest, estimate_vram
from cardmatch.answers.misfit import fitted
from cardmatch.catalogue.pipelines import named_pipeline
from cardmatch.catalogue.world import bundled
from cardmatch.cli import diffusion, encode, shorthand, training
from cardmatch.cli.output import BAD_INPUT, language_of, print_faults, table
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.inference import DEFAULT_ENGINE
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import word

DOES_NOT_FIT = 1
_COLUMNS = ("cards", "verdict", "weights", "kv_cache", "engine", "budget", "max_context_tokens", "max_concurrency")
_GOOD = frozenset({Verdict.FITS, Verdict.COMFORTABLE})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the workload, the cards, and what counts as success."""
    parser.add_argument("model", help="catalogue id, loose name, bare size such as 7B, or a config.json")
    parser.add_argument("--context", type=shorthand.tokens, metavar="TOKENS", help="longest request; 8k is 8,192")
    parser.add_argument("--concurrency", type=shorthand.count, metavar="N", help="requests at the same time")
    parser.add_argument("--mean-tokens", type=shorthand.tokens, metavar="TOKENS", help="mean length of a request")
    parser.add_argument("--engine", metavar="KIND", help="vllm, sglang, tensorrt_llm, llama_cpp, ollama, lm_studio, …")
    parser.add_argument("--engine-args", metavar="WORDS", help="its command line, such as '--max-model-len 16384'")
    parser.add_argument("--weights", metavar="FORMAT", help="number format of the weights, such as fp8 or awq_int4")
    parser.add_argument("--kv-cache", metavar="FORMAT", help="number format of the cache, such as fp8_e4m3")
    parser.add_argument(
        "--card",
        action="append",
        type=shorthand.card,
        metavar="CARD",
        help="rtx-4090, 2x h100-sxm-80, a100-sxm-80:3g.40gb; may be repeated",
    )
    parser.add_argument(
        "--accept",
        type=_verdicts,
        default=frozenset(),
        metavar="VERDICTS",
        help="tight,queues: count these as success too",
    )
    training.add_arguments(parser)
    diffusion.add_arguments(parser)
    encode.add_arguments(parser)
    parser.add_argument("--language", type=Language, choices=list(Language), help="en, es or zh (default: from LANG)")
    parser.add_argument("--json", action="store_true", help="print the answer of the API")


def run(arguments: argparse.Namespace) -> int:
    """Print the estimate. 0: every card named is good (with none named, one is enough); 1: not so; 2: bad input."""
    language = language_of(arguments.language)
    try:
        request = fitted(_body(arguments), EstimateRequest)
        answer = estimate_vram(bundled(), request, language, dt.datetime.now(dt.UTC).date())
    except Invalid as invalid:
        return print_faults(invalid, language)
    except (OSError, msgspec.DecodeError) as error:
        print(f"cardmatch: {error}", file=sys.stderr)
        return BAD_INPUT
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        print(_told(answer, language))
    good = [placement.verdict in _GOOD | arguments.accept for placement in answer.placements]
    return 0 if (all(good) if arguments.card else any(good)) else DOES_NOT_FIT


def _told(answer: AnyEstimate, language: Language) -> str:
    if isinstance(answer, Estimate):
        return _in_words(answer, language)
    if isinstance(answer, DiffusionAnswer):
        return diffusion.in_words(answer, language)
    return (
        encode.in_words(answer, language) if isinstance(answer, EncodeAnswer) else training.in_words(answer, language)
    )


def _verdicts(text: str) -> frozenset[Verdict]:
    return frozenset(Verdict(word.strip()) for word in text.split(","))


def _serving(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "kind": "inference",
        "engine": _engine(arguments),
        "context_tokens": arguments.context,
        "concurrency": arguments.concurrency,
        "mean_tokens_per_request": arguments.mean_tokens,
        "weights": arguments.weights,
        "kv_cache": arguments.kv_cache,
    }


def _workload(arguments: argparse.Namespace) -> dict[str, Any]:
    """The kind that the options say, else the model's own: a pipeline paints."""
    if arguments.encode is not None:
        return encode.workload(arguments)
    if arguments.image or arguments.frames or named_pipeline(bundled().pipelines, arguments.model) is not None:
        return diffusion.workload(arguments)
    return _serving(arguments) if arguments.train is None else training.workload(arguments)


def _engine(arguments: argparse.Namespace) -> dict[str, str] | None:
    """The engine that is named, or the default one where only its command line is given."""
    words = {} if arguments.engine_args is None else {"args": arguments.engine_args}
    kind = arguments.engine or (str(DEFAULT_ENGINE.__struct_config__.tag) if words else None)
    return None if kind is None else {"kind": kind, **words}


def _body(arguments: argparse.Namespace) -> dict[str, Any]:
    workload = _workload(arguments)
    body: dict[str, Any] = {
        "model": _model(arguments.model),
        "workload": {name: value for name, value in workload.items() if value is not None},
    }
    if arguments.card:
        body["cards"] = [
            {"card": card.card, "count": card.number, **({"mig": card.mig} if card.mig else {})}
            for card in arguments.card
        ]
    return body


def _model(text: str) -> str | dict[str, Any]:
    """A name, or the content of a configuration file."""
    path = Path(text)
    if path.suffix == ".json" and path.is_file():
        return {"kind": "config", "config": msgspec.json.decode(path.read_bytes())}
    return text


def _in_words(answer: Estimate, language: Language) -> str:
    numbers = numerals(language)
    rows = [
        (
            _label(placement),
            word("verdict", placement.verdict, language),
            numbers.gib(placement.per_gpu.weights_bytes),
            numbers.gib(placement.per_gpu.kv_cache_bytes + placement.per_gpu.recurrent_state_bytes),
            numbers.gib(placement.per_gpu.activations_bytes + placement.per_gpu.overhead_bytes),
            numbers.gib(placement.budget_bytes),
            numbers.integer(placement.max_context_tokens),
            numbers.integer(placement.max_concurrency),
        )
        for placement in answer.placements
    ]
    heads = [word("column", column, language) for column in _COLUMNS]
    ways = [f"  {_label(placement)}: {way.message}" for placement in answer.placements for way in placement.ways_to_fit]
    notices = [notice.message for notice in answer.notices]
    return "\n".join([answer.summary, "", table(heads, rows, word("column", "unit", language)), *ways, *notices])


def _label(placement: PlacementEstimate) -> str:
    return f"{placement.count}× {placement.card or '–'}{' ' + placement.mig if placement.mig else ''}"
