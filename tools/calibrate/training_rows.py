"""From a measured training run (tests/truth schema, family training_memory) to the request that describes it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.training.workload import Training

FRAMEWORKS = {
    "ms-swift": "ms_swift",
    "fms-acceleration": "trl",  # plugins for trl's SFTTrainer
    "torchao": "torchtune",  # its benchmarks run torchtune-style loops
    "fms-fsdp": "torchtitan",  # FSDP over fp32 shards, as torchtitan
}
OPTIMIZERS = {"adam_8bit": "adamw_8bit"}
SIXTEEN_BIT = {"bf16", "fp16", "fp32"}


class Run(NamedTuple):
    """A run as a request: the workload, how many GPUs and their layout."""

    workload: Training
    gpus: int
    layout: Layout


def skipped(row: dict[str, Any]) -> str | None:
    """Why *row* cannot be asked, or null: an input that the request needs is not stated or not in its vocabulary."""
    setup = row["setup"]
    for field in ("sequence_tokens", "micro_batch", "gradient_checkpointing"):
        if setup[field] is None:
            return f"{field} not stated"
    if setup["precision"] not in _PRECISIONS:
        return f"precision {setup['precision']}"
    if setup["method"] != "full" and not (setup["lora"] or {}).get("rank"):
        return "LoRA rank not stated"
    return None


_PRECISIONS = SIXTEEN_BIT | {"mixed_bf16", "mixed_fp16", "mixed_fp8", "mixed_nvfp4", "bf16_fp32_master"}


def run(row: dict[str, Any]) -> Run:
    """The request that *row* describes."""
    setup = row["setup"]
    count = setup["count"] or 1
    tensor, pipeline = setup["tensor_parallel"] or 1, setup["pipeline_parallel"] or 1
    data = max(1, count // (tensor * pipeline))
    return Run(
        workload=msgspec.convert({"kind": "training", **_fields(row, setup, data, pipeline)}, Training),
        gpus=count,
        layout=Layout(tensor=tensor, pipeline=pipeline, data=data, expert=setup["expert_parallel"] or 1),
    )


def _fields(row: dict[str, Any], setup: dict[str, Any], data: int, pipeline: int) -> dict[str, Any]:
    framework, optimizer = setup["framework"], setup["optimizer"]
    fields: dict[str, Any] = {
        "method": setup["method"],
        "framework": FRAMEWORKS.get(framework, framework),
        "precision": setup["precision"],
        "optimizer": OPTIMIZERS.get(optimizer, optimizer),
        "optimizer_in_backward": bool(setup["optimizer_in_backward"]),
        "fused_optimizer": setup["fused_optimizer"],
        "sequence_tokens": setup["sequence_tokens"],
        # A pipeline's local batch is split into as many micro-batches as there are stages (torchtitan's default).
        "micro_batch": max(1, setup["micro_batch"] // pipeline),
        "gradient_checkpointing": setup["gradient_checkpointing"],
        "attention": setup["attention"],
        "fused_loss": False if framework == "torchao" else setup["fused_loss"],
        "context_parallel": setup["context_parallel"] or 1,
        "offload": [] if setup["offload"] in {None, "none"} else setup["offload"].split("+"),
        "sharding": setup["sharding"] if data > 1 else "none",
        "packing": _packing(setup),
        "gradient_accumulation_steps": _accumulation(row["note"] or ""),
        "kernels": _kernels(setup),
    }
    if setup["method"] != "full":
        lora = setup["lora"]
        fields["lora"] = {"rank": lora["rank"], "targets": lora["targets"]}
        if lora.get("modules_to_save"):
            fields["lora"]["modules_to_save"] = ["embed_tokens", "lm_head"]
        if row["model"]["checkpoint"] not in SIXTEEN_BIT:
            fields["weights"] = row["model"]["checkpoint"]
    if setup["method"] == "qlora" and framework == "fms-acceleration":
        fields["upcast_embeddings"] = "kbit preparation" in (row["note"] or "")
    return fields


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
