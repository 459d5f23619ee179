"""Rows of training_memory and of speed as training runs with a measured rate."""

from __future__ import annotations

import re

from cardmatch.engine.memory.training.workload import Checkpointing, Method
from cardmatch.engine.speed.chip import chip_of
from cardmatch.engine.speed.training import Run, executed_flops, rate_of, run
from tests.truth.cases import Case, Skipped
from tests.truth.families.training_request import FRAMEWORKS
from tests.truth.world import TruthWorld
from tools.calibrate.training_speed import Seen

MOST = 1.5
"""A rate beyond that multiple of the dense 16-bit peak is no GPU's own, not even in FP8."""

OWN = {"fms-acceleration": "trl", "fms_fsdp": "fms_fsdp", "fms-fsdp": "fms_fsdp", "megatron_bridge": "megatron"}
"""fms-fsdp is a loop of its own, not torchtitan's, when it comes to speed."""


def prepare(case: Case, world: TruthWorld) -> Seen:
    """The row as an observation. Raises Skipped where its set-up is not complete."""
    setup = case.setup
    if setup["card"] not in world.catalogue.cards:
        raise Skipped("card not stated or not in the catalogue")
    made, rate = _from_memory(case, world) if case.family == "training_memory" else _from_speed(case, world)
    chip = chip_of(world.catalogue.cards[setup["card"]])
    if rate * executed_flops(made) > MOST * rate_of(chip):
        raise Skipped("more than the card's rate: counts all GPUs")
    return Seen(
        case=case.id,
        source=case.origin,
        card=setup["card"],
        run=made,
        chip=chip,
        rate=rate,
    )


def _framework(name: str) -> str:
    return OWN.get(name) or FRAMEWORKS.get(name, name)


def _from_memory(case: Case, world: TruthWorld) -> tuple[Run, float]:
    setup, rate = case.setup, case.measured["tokens_per_second_per_gpu"]
    if rate is None:
        raise Skipped("no rate")
    if setup["sequence_tokens"] is None or setup["micro_batch"] is None or setup["gradient_checkpointing"] is None:
        raise Skipped("set-up not complete")
    made = run(
        world.model(case.model).architecture,
        framework=_framework(setup["framework"]),
        method=Method(setup["method"]),
        precision="fp8" if "fp8" in (setup["precision"] or "") else "bf16",
        kernels=_kernels(case),
        checkpointing=Checkpointing(setup["gradient_checkpointing"]),
        sequence_tokens=setup["sequence_tokens"],
        micro_batch=setup["micro_batch"],
        gpus=setup["count"] or 1,
        tensor=setup["tensor_parallel"] or 1,
    )
    return made, rate


def _kernels(case: Case) -> str:
    """Fused by hand, compiled, or op by op, where the row says so."""
    if case.setup["compile"]:
        return "compiled"
    if case.setup["framework"] == "fms-acceleration":
        return "eager" if case.setup["fused_loss"] is False else "fused"
    return ""


def _from_speed(case: Case, world: TruthWorld) -> tuple[Run, float]:
    setup, measured, note = case.setup, case.measured, case.note or ""
    if setup["kind"] != "training":
        raise Skipped(f"kind {setup['kind']}")
    if setup["prompt_tokens"] is None:
        raise Skipped("sequence length not stated")
    tokens = measured["total_tokens_per_second"]
    rate = tokens or (measured["samples_per_second"] or 0) * setup["prompt_tokens"]
    if not rate:
        raise Skipped("no rate")
    count, sequence = setup["count"] or 1, setup["prompt_tokens"]
    made = run(
        world.model(case.model).architecture,
        framework=_framework(setup["engine"]),
        method=Method.LORA if setup["lora"] else Method.FULL,
        precision="fp8" if case.model.checkpoint == "fp8" else "bf16",
        checkpointing=_checkpointing(note),
        sequence_tokens=sequence,
        micro_batch=_micro_batch(note, setup["concurrency"], count),
        gpus=count,
        tensor=setup["tensor_parallel"] or 1,
    )
    return made, rate / count


def _checkpointing(note: str) -> Checkpointing:
    stated = re.search(r"activation checkpointing (True|False|none|selective|full)", note)
    words = {"True": Checkpointing.FULL, "False": Checkpointing.NONE}
    if stated:
        return words.get(stated[1]) or Checkpointing(stated[1])
    return Checkpointing.NONE


def _micro_batch(note: str, sequences: int | None, count: int) -> int:
    """As noted; else the global batch shared out, in one pass."""
    stated = re.search(r"micro-batch (\d+)", note)
    return int(stated[1]) if stated else max(1, (sequences or count) // count)
