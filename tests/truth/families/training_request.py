"""From a measured training run to the request that describes it, and the peaks that were read off it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.training.demand import demands
from cardmatch.engine.memory.training.frameworks import Framework
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh, mesh
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import GIB, MIB
from tests.truth.cases import Case, Skipped
from tests.truth.world import TruthWorld
from tools.calibrate.training import Observation

FRAMEWORKS = {
    "llama-factory": "llama_factory",
    "megatron-lm": "megatron",
    "megatron-swift": "megatron",
    "megatron-bridge": "megatron",
    "ms-swift": "ms_swift",
    "fms-acceleration": "trl",  # plugins for trl's SFTTrainer
    "torchao": "torchtune",  # its benchmarks run torchtune-style loops
    "fms-fsdp": "torchtitan",  # FSDP over fp32 shards, as torchtitan
}
OPTIMIZERS = {
    "adam": "adamw",
    "adam_8bit": "adamw_8bit",
    "paged_adamw_32bit": "paged_adamw",
    "adamw_torch": "adamw",
    "adamw_torch_fused": "adamw",
    "adamw_bnb_8bit": "adamw_8bit",
}
SIXTEEN_BIT = {"bf16", "fp16", "fp32"}
PRECISIONS = SIXTEEN_BIT | {"mixed_bf16", "mixed_fp16", "mixed_fp8", "mixed_nvfp4", "bf16_fp32_master"}
FUSED_BEFORE_5 = {"gpt_oss", "llama4", "llama4_text"}
"""The measured runs are of transformers 4, where other families had a module for each expert."""
NEEDED = ("sequence_tokens", "micro_batch", "gradient_checkpointing")
_UNKNOWN = Device(card=None, physical_bytes=0, memory_bytes=0, memory_low_bytes=0, memory_high_bytes=0)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a job on a mesh, with every peak that it states; `known_device` says that a verdict can be given."""

    case: Case
    job: TrainingJob
    mesh: Mesh
    placement: Placement
    known_device: bool
    observations: tuple[Observation, ...]


def prepare(case: Case, world: TruthWorld) -> Prepared:
    """The row as a request. Raises Skipped where an input is not stated or outside the request's vocabulary."""
    setup = case.setup
    for field in NEEDED:
        if setup[field] is None:
            raise Skipped(f"{field} not stated")
    if setup["precision"] not in PRECISIONS:
        raise Skipped(f"precision {setup['precision']}")
    if setup["method"] != "full" and not (setup["lora"] or {}).get("rank"):
        raise Skipped("LoRA rank not stated")
    model, device = world.model(case.model), world.device(setup["card"], None)
    count, layout = setup["count"] or 1, _layout(setup)
    placement = Placement(device=device or _UNKNOWN, count=count, layout=layout)
    try:
        fields = _fields(case, layout)
        if setup["method"] != "full" and model.architecture.family not in FUSED_BEFORE_5:
            fields["fused_experts"] = False
        workload = msgspec.convert({"kind": "training", **fields}, Training)
        job, _ = settle(workload, model.architecture, model.checkpoint)
        spread = mesh(workload, job.default_sharding, placement)
    except (msgspec.ValidationError, Invalid) as refused:
        raise Skipped(f"not in the request's vocabulary: {refused}") from None
    return Prepared(
        case=case,
        job=job,
        mesh=spread,
        placement=placement,
        known_device=device is not None,
        observations=tuple(_observations(case, job, spread)),
    )


def _observations(case: Case, job: TrainingJob, spread: Mesh) -> Iterator[Observation]:
    """The measured peak and, where the note gives it, nvidia-smi's beside it."""
    tokens = job.micro_batch * job.sequence_tokens / spread.context
    asked = demands(job, spread)
    for kind, size in _peaks(case):
        yield Observation(case.id, case.origin, kind, size, asked, tokens, job.sequence_tokens)


def _peaks(case: Case) -> Iterator[tuple[str, float]]:
    if case.measured["peak_gib_per_gpu"] is not None:
        yield case.measured["peak_kind"], case.measured["peak_gib_per_gpu"] * GIB
    stated = re.search(r"nvidia-smi ([\d.]+) MiB; rank", case.note or "")
    if stated:
        yield "process", float(stated[1]) * MIB


def _layout(setup: dict[str, Any]) -> Layout:
    count = setup["count"] or 1
    tensor, pipeline = setup["tensor_parallel"] or 1, setup["pipeline_parallel"] or 1
    data = max(1, count // (tensor * pipeline))
    return Layout(tensor=tensor, pipeline=pipeline, data=data, expert=setup["expert_parallel"] or 1)


def _fields(case: Case, layout: Layout) -> dict[str, Any]:
    setup, framework = case.setup, case.setup["framework"]
    fields: dict[str, Any] = {
        "method": setup["method"],
        "framework": _framework(framework),
        "precision": setup["precision"],
        "optimizer": OPTIMIZERS.get(setup["optimizer"], setup["optimizer"]),
        "optimizer_in_backward": bool(setup["optimizer_in_backward"]),
        "fused_optimizer": setup["fused_optimizer"],
        "sequence_tokens": setup["sequence_tokens"],
        # A pipeline's local batch is split into as many micro-batches as there are stages (torchtitan's default).
        "micro_batch": max(1, setup["micro_batch"] // layout.pipeline),
        "gradient_accumulation_steps": _accumulation(case.note or ""),
        "gradient_checkpointing": setup["gradient_checkpointing"],
        "attention": setup["attention"],
        "fused_loss": False if framework == "torchao" else setup["fused_loss"],
        "context_parallel": setup["context_parallel"] or 1,
        # Gradients follow the parameters or the optimizer that they belong to.
        "offload": [part for part in (setup["offload"] or "none").split("+") if part not in {"none", "gradients"}],
        "sharding": setup["sharding"] if layout.data > 1 else "none",
        "packing": _packing(setup),
        "kernels": _kernels(setup),
    }
    return fields if setup["method"] == "full" else fields | _adapter_fields(case)


def _adapter_fields(case: Case) -> dict[str, Any]:
    lora = case.setup["lora"]
    fields: dict[str, Any] = {"lora": {"rank": lora["rank"], "targets": lora["targets"]}}
    if lora.get("modules_to_save"):
        fields["lora"]["modules_to_save"] = ["embed_tokens", "lm_head"]
    if case.model.checkpoint not in SIXTEEN_BIT:
        fields["weights"] = case.model.checkpoint
    if case.setup["method"] == "qlora" and case.setup["framework"] == "fms-acceleration":
        fields["upcast_embeddings"] = "kbit preparation" in (case.note or "")
    return fields


def _framework(name: str | None) -> str | None:
    """The preset that a row's framework means; null, the most common habits, where there is none."""
    found = FRAMEWORKS.get((name or "").lower(), (name or "").lower())
    return found if found in set(Framework) else None


def _packing(setup: dict[str, Any]) -> bool | None:
    """Lengths vary where rows are unpacked; peft's benchmark empties the allocator's cache every ten steps
    (method_comparison/MetaMathQA/run.py), so that varying lengths leave no trace in its figures.
    """
    return False if setup["packing"] is False and setup["framework"] != "peft" else None


def _accumulation(note: str) -> int | None:
    """Micro-batches per step, where the note names them."""
    stated = re.search(r"grad-accum (\d+)", note)
    return int(stated[1]) if stated else None


def _kernels(setup: dict[str, Any]) -> str | None:
    if setup["compile"]:
        return "compiled"
    # The fast kernels of fms-acceleration leave its rows' fused_loss open; its plain runs say false.
    if setup["framework"] == "fms-acceleration":
        return "eager" if setup["fused_loss"] is False else "fused"
    return None
