"""`cardmatch estimate`: does a model fit, as a table or as the JSON of POST /estimate-vram."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.answers.diffusion import DiffusionAnswer
from cardmatch.answers.encode import EncodeAnswer
from cardmatch.answers.estimate import AnyEstimate, Estimate, EstimateRequest, estimate_vram
from cardmatch.answers.misfit import fitted
from cardmatch.catalogue.pipelines import named_pipeline
from cardmatch.catalogue.world import bundled
from cardmatch.cli import belonging, diffusion, encode, shorthand, training
from cardmatch.cli.estimated import estimated
from cardmatch.cli.output import BAD_INPUT, add_output, show
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.inference import DEFAULT_ENGINE
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals

DOES_NOT_FIT = 1
_COLUMNS = ("weights", "kv_cache", "engine", "budget", "max_context_tokens", "max_concurrency")
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
    parser.add_argument("--explain", action="store_true", help="say how each figure came about")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the estimate. 0: every card named is good (with none named, one is enough); 1: not so; 2: bad input."""
    answer = show(arguments, _request, partial(estimate_vram, bundled()), _told)
    if answer is None:
        return BAD_INPUT
    good = [placement.verdict in _GOOD | arguments.accept for placement in answer.placements]
    return 0 if (all(good) if arguments.card else any(good)) else DOES_NOT_FIT


def _request(arguments: argparse.Namespace) -> EstimateRequest:
    return fitted(_body(arguments), EstimateRequest)


def _told(answer: AnyEstimate, _: EstimateRequest, language: Language) -> str:
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


_WORKLOADS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "training": training.workload,
    "diffusion": diffusion.workload,
    "encode": encode.workload,
}


def _workload(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the options describe. Raises Invalid where one of them goes with another kind of workload."""
    kind = _kind(arguments)
    belonging.check(arguments, kind)
    return _WORKLOADS.get(kind, _serving)(arguments)


def _kind(arguments: argparse.Namespace) -> str:
    """The kind that the options say, else the model's own: a pipeline paints."""
    if arguments.encode is not None:
        return "encode"
    if arguments.image or arguments.frames or named_pipeline(bundled().pipelines, arguments.model) is not None:
        return "diffusion"
    return "inference" if arguments.train is None else "training"


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
    if arguments.explain:
        body["explain"] = True
    if arguments.card:
        body["cards"] = [
            {"card": card.card, "count": card.number, **({"mig": card.mig} if card.mig else {})}
            for card in arguments.card
        ]
    return body


def _model(text: str) -> str | dict[str, Any]:
    """A name, or the content of a configuration file. Raises OSError where what looks like one is not there."""
    path = Path(text)
    if path.suffix != ".json":
        return text
    return {"kind": "config", "config": msgspec.json.decode(path.read_bytes())}


def _in_words(answer: Estimate, language: Language) -> str:
    return estimated(answer, answer.placements, _COLUMNS, _figures, language)


def _figures(placement: PlacementEstimate, numbers: Numerals, _: Language) -> tuple[str, ...]:
    on = placement.per_gpu
    sizes = (
        on.weights_bytes,
        on.kv_cache_bytes + on.recurrent_state_bytes,
        on.activations_bytes + on.overhead_bytes,
        placement.budget_bytes,
    )
    most = (placement.max_context_tokens, placement.max_concurrency)
    return (*(numbers.gib(size) for size in sizes), *(numbers.integer(number) for number in most))
