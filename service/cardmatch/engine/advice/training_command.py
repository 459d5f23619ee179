"""`trl sft …`: the run as it was reckoned with, setting by setting (TRL 1.16, transformers 5.24, accelerate 1.15)."""

from __future__ import annotations

import math

from cardmatch.engine.memory.training.frameworks import CrossEntropy, Framework
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.recipes import OPTIMIZERS, OptimizerName, Precision
from cardmatch.engine.memory.training.workload import AttentionKernel, Checkpointing, Lora, Method, Sharding
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_NO_AUTOCAST = "--bf16 False"
_PRECISIONS = {
    Precision.BF16: "--dtype bfloat16 --bf16",
    Precision.FP16: f"--dtype float16 {_NO_AUTOCAST}",
    Precision.FP32: f"--dtype float32 {_NO_AUTOCAST}",
    Precision.MIXED_BF16: "--dtype float32 --bf16",
    Precision.MIXED_FP16: "--dtype float32 --fp16",
}
"""TRL loads weights in float32 unless told otherwise, and switches BF16 on unless FP16 is."""
_OPTIMIZERS = {
    OptimizerName.ADAMW_8BIT: "adamw_8bit",
    OptimizerName.ADAMW_4BIT: "adamw_torch_4bit",
    OptimizerName.PAGED_ADAMW: "paged_adamw_32bit",
    OptimizerName.PAGED_ADAMW_8BIT: "paged_adamw_8bit",
    OptimizerName.ADAFACTOR: "adafactor",
    OptimizerName.LION: "lion_32bit",
    OptimizerName.LION_8BIT: "lion_8bit",
    OptimizerName.SGD: "sgd",
}
_ATTENTION = {
    AttentionKernel.FLASH: "kernels-community/flash-attn2",
    AttentionKernel.SDPA: "sdpa",
    AttentionKernel.EAGER: "eager",
}
_CONFIGS = {
    Sharding.NONE: "multi_gpu",
    Sharding.DDP: "multi_gpu",
    Sharding.ZERO1: "zero1",
    Sharding.ZERO2: "zero2",
    Sharding.ZERO3: "zero3",
    Sharding.FSDP: "fsdp2",
}
"""The configurations of accelerate that TRL brings along."""
_QUANTISED = {
    "nf4": "--load_in_4bit",
    "nf4_dq": "--load_in_4bit --use_bnb_nested_quant",
    "int8": "--load_in_8bit",
}
_ITS_OWN = frozenset({None, Framework.TRL, Framework.TRANSFORMERS, Framework.PEFT})
"""Frameworks of which TRL's command line is one."""


def command(
    model: str, job: TrainingJob, gpus: int, nodes: int = 1, *, tokens: float | None = None, epochs: float | None = None
) -> str:
    """The run of *model* on each machine: for *epochs* passes, else as many steps as *tokens* take."""
    parts = [f"trl sft --model_name_or_path {model} --dataset_name $DATASET", _length(job, gpus, tokens, epochs)]
    parts += [f"--per_device_train_batch_size {job.micro_batch} --gradient_accumulation_steps {job.accumulation}"]
    parts += [_precision(job, gpus), f"--attn_implementation {_ATTENTION[job.attention]}"]
    parts += [f"--gradient_checkpointing {job.checkpointing is not Checkpointing.NONE}"]
    parts += [_optimizer(job), *_adapters(job, gpus)]
    if job.style.fused or job.cross_entropy is CrossEntropy.LINEAR:
        parts.append("--use_liger_kernel")
    if gpus > 1:
        parts.append(f"--accelerate_config {_CONFIGS.get(_sharding(job), 'fsdp2')} --num_processes {gpus}")
    if nodes > 1:
        parts.append(f"--num_machines {nodes} --machine_rank $RANK --main_process_ip $FIRST --main_process_port 29500")
    return " ".join([part for part in parts if part])


def unsaid(job: TrainingJob, gpus: int) -> tuple[Notice, ...]:
    """Says which fields of the workload TRL's command line does not state as they were reckoned with."""
    workload, lora = job.workload, job.workload.lora
    said = {
        "framework": workload.framework in _ITS_OWN,
        "precision": job.precision in _PRECISIONS,
        "optimizer": _optimizer(job) != "",
        "optimizer_in_backward": not workload.optimizer_in_backward,
        "gradient_checkpointing": job.checkpointing is not Checkpointing.SELECTIVE,
        "lora/targets": lora is None or not {"attention", "mlp"} & set(lora.targets),
        "sharding": gpus == 1 or _sharding(job) in _CONFIGS,
        "context_parallel": workload.context_parallel == 1,
        "offload": not job.offload,
    }
    missing = [name for name, stated in said.items() if not stated]
    return (notice(NoticeCode.COMMAND_LACKS_SETTINGS, Severity.CAUTION, settings=missing),) if missing else ()


def _length(job: TrainingJob, gpus: int, tokens: float | None, epochs: float | None) -> str:
    """The sequence, whether short examples share one, and when the run ends."""
    said = f"--max_length {job.sequence_tokens}"
    if job.workload.packing is not False:
        said += " --packing" if job.attention is AttentionKernel.FLASH else " --packing --packing_strategy wrapped"
    if epochs is not None:
        return f"{said} --num_train_epochs {epochs:g}"
    if tokens is None:
        return f"{said} --num_train_epochs $EPOCHS"
    step = job.sequence_tokens * job.micro_batch * job.accumulation * gpus
    return f"{said} --max_steps {max(1, math.ceil(tokens / step))}"


def _precision(job: TrainingJob, gpus: int) -> str:
    """FSDP under autocast widens what is trained to fp32 (accelerate), so full training in 16 bits goes without it."""
    sharded = gpus > 1 and _sharding(job) in {Sharding.FSDP, Sharding.HSDP}
    if job.precision is Precision.BF16 and job.full and sharded:
        return f"--dtype bfloat16 {_NO_AUTOCAST} --mixed_precision no"
    if job.precision is Precision.FP16 and not job.full:  # adapters are fp32, which a gradient scaler needs
        return "--dtype float16 --fp16"
    return _PRECISIONS.get(job.precision, "--dtype float32 --bf16")


def _optimizer(job: TrainingJob) -> str:
    """Empty where the Trainer has none such."""
    name = next(name for name, each in OPTIMIZERS.items() if each is job.optimizer)
    if name is OptimizerName.ADAMW:
        fused = job.behaviour.fused_optimizer if job.workload.fused_optimizer is None else job.workload.fused_optimizer
        return f"--optim {'adamw_torch_fused' if fused else 'adamw_torch'}"
    return f"--optim {_OPTIMIZERS[name]}" if name in _OPTIMIZERS else ""


def _adapters(job: TrainingJob, gpus: int) -> list[str]:
    workload = job.workload
    if workload.method is Method.FULL:
        return []
    lora = workload.lora or Lora()
    targets = " ".join(["all-linear" if each == "all_linear" else each for each in lora.targets])
    said = [f"--use_peft --lora_r {lora.rank} --lora_target_modules {targets}"]
    if lora.modules_to_save:
        said.append(f"--lora_modules_to_save {' '.join([each.value for each in lora.modules_to_save])}")
    if job.quantised and job.checkpoint.format in _QUANTISED:
        said.append(_QUANTISED[job.checkpoint.format])
        if gpus > 1 and job.checkpoint.format != "int8":
            said.append("--bnb_4bit_quant_storage bfloat16")
    return said


def _sharding(job: TrainingJob) -> Sharding:
    return job.workload.sharding or job.default_sharding
