"""Training on the command line: `cardmatch estimate MODEL --train lora`, its options and its table."""

from __future__ import annotations

import argparse
from typing import Any

from cardmatch.answers.training import TrainingAnswer
from cardmatch.cli import shorthand
from cardmatch.cli.estimated import estimated
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.frameworks import Framework
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.training.workload import Checkpointing, Method, Sharding
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals

_COLUMNS = (
    "weights", "gradients", "optimizer", "activations", "overhead", "budget", "max_micro_batch",
    "max_sequence_tokens",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a training run is, with the documented defaults for whatever is left out."""
    group = parser.add_argument_group("training", "with --train; several cards share the job (FSDP)")
    group.add_argument("--train", choices=list(Method), metavar="METHOD", help="full, lora or qlora")
    group.add_argument("--framework", choices=list(Framework), metavar="NAME", help=", ".join(Framework))
    group.add_argument("--sequence", type=shorthand.tokens, metavar="TOKENS", help="tokens of a sequence; 4k is 4,096")
    group.add_argument("--micro-batch", type=shorthand.count, metavar="N", help="sequences a GPU takes at once")
    group.add_argument("--accumulate", type=shorthand.count, metavar="N", help="micro-batches per optimizer step")
    group.add_argument("--precision", choices=list(Precision), metavar="RECIPE", help=", ".join(Precision))
    group.add_argument("--optimizer", choices=list(OptimizerName), metavar="NAME", help=", ".join(OptimizerName))
    group.add_argument("--rank", type=shorthand.count, metavar="R", help="rank of the LoRA adapters")
    group.add_argument("--targets", type=_names, metavar="NAMES", help="q_proj,v_proj or all_linear")
    group.add_argument("--checkpointing", choices=list(Checkpointing), help="gradient checkpointing")
    group.add_argument("--fused-loss", action="store_true", default=None, help="loss fused with the output head")
    group.add_argument("--packing", action="store_true", default=None, help="every sequence is full")
    group.add_argument("--sharding", choices=list(Sharding), help="how several GPUs share the states")
    group.add_argument(
        "--offload",
        type=_names,
        metavar="PARTS",
        help="optimizer,parameters,activations (diffusion: model, group, sequential)",
    )


def workload(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload of POST /estimate-vram that the options describe."""
    adapters = {"rank": arguments.rank, "targets": arguments.targets}
    lora = {name: value for name, value in adapters.items() if value is not None}
    return {
        "kind": "training",
        "method": arguments.train,
        "framework": arguments.framework,
        "sequence_tokens": arguments.sequence,
        "micro_batch": arguments.micro_batch,
        "gradient_accumulation_steps": arguments.accumulate,
        "precision": arguments.precision,
        "optimizer": arguments.optimizer,
        "lora": lora or None,
        "gradient_checkpointing": arguments.checkpointing,
        "fused_loss": arguments.fused_loss,
        "packing": arguments.packing,
        "sharding": arguments.sharding,
        "offload": arguments.offload,
        "weights": arguments.weights,
        # Options of serving are passed on, so that they are refused as a request would be.
        "context_tokens": arguments.context,
        "concurrency": arguments.concurrency,
        "mean_tokens_per_request": arguments.mean_tokens,
        "kv_cache": arguments.kv_cache,
    }


def in_words(answer: TrainingAnswer, language: Language) -> str:
    """The summary, a table of the placements, and the ways to fit."""
    return estimated(answer, answer.placements, _COLUMNS, _figures, language)


def _figures(placement: TrainingPlacement, numbers: Numerals, _: Language) -> tuple[str, ...]:
    on = placement.per_gpu
    sizes = (
        on.weights_bytes,
        on.gradients_bytes,
        on.optimizer_bytes,
        on.activations_bytes,
        on.overhead_bytes,
        placement.budget_bytes,
    )
    most = (placement.max_micro_batch, placement.max_sequence_tokens)
    return (*(numbers.gib(size) for size in sizes), *(numbers.integer(number) for number in most))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
