"""`vllm serve` and `LLM(…)`: vllm v0.33.0 engine/arg_utils.py, and options that older versions had."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.memory.arguments.names.vllm import NAMES
from cardmatch.engine.memory.arguments.table import Flag, Put, Table, Takes, constant, layout, option, words, workload
from cardmatch.engine.memory.arguments.values import human, integer, json, ratio, switch, text
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.units import GIB

KV_FORMATS = {
    "auto": KvFormat.AUTO,
    "float16": KvFormat.FP16,
    "half": KvFormat.FP16,
    "bfloat16": KvFormat.BF16,
    "fp8": KvFormat.FP8_E4M3,
    "fp8_e4m3": KvFormat.FP8_E4M3,
    "fp8_e5m2": KvFormat.FP8_E5M2,
    "fp8_inc": KvFormat.FP8_E4M3,
    "fp8_ds_mla": KvFormat.FP8_DS_MLA,
    "int8_per_token_head": KvFormat.INT8,
    "nvfp4": KvFormat.NVFP4,
}
_METHODS = {
    **{method.value: method for method in SpeculativeMethod},
    "draft": SpeculativeMethod.DRAFT_MODEL,
    "suffix": SpeculativeMethod.NGRAM,
    **dict.fromkeys(
        ("deepseek_mtp", "qwen3_next_mtp", "qwen3_5_mtp", "glm4_moe_mtp", "ernie_mtp", "mimo_mtp", "longcat_flash_mtp"),
        SpeculativeMethod.MTP,
    ),
}
# What these quantise at load time; other methods are the checkpoint's own, which the model says.
_ONLINE = {"fp8": "fp8", "bitsandbytes": "nf4", "mxfp8": "fp8"}


def _length(found: Found, value: str) -> None:
    """`auto` and -1 take what fits, which is no longer than the model's own limit."""
    if value not in {"auto", "-1"}:
        found.options["max_model_len"] = human(value)


def _weights(found: Found, value: str) -> None:
    if value in _ONLINE:
        found.workload["weights_if_plain"] = _ONLINE[value]
    else:
        found.needs_checkpoint = ("--quantization", value)


def _dtype(found: Found, value: str) -> None:
    if value in {"float", "float32"}:
        found.workload["weights_if_plain"] = "fp32"


def _speculative(found: Found, value: str) -> None:
    found.scratch.setdefault("speculative", {}).update(json(value))


def _speculative_part(key: str) -> Put:
    def put(found: Found, value: str) -> None:
        found.scratch.setdefault("speculative", {})[key] = value

    return put


def _compilation(found: Found, value: str) -> None:
    """Sizes of the graphs that are captured; a bare level (`-O3`) changes none."""
    if value.isdigit():
        return
    sizes = json(value).get("cudagraph_capture_sizes")
    if isinstance(sizes, list) and sizes:
        found.options["max_cudagraph_capture_size"] = max(int(size) for size in sizes)


def _sizes(found: Found, value: str) -> None:
    found.options["max_cudagraph_capture_size"] = max(int(size) for size in value.replace(",", " ").split())


def _gib(value: str) -> int:
    return int(ratio(value) * GIB)


def _lora(found: Found, value: str) -> None:
    found.scratch["lora"] = switch(value)


EFFECTIVE = {
    "--gpu-memory-utilization": Flag(option("gpu_memory_utilization", ratio)),
    "--device-memory-utilization": Flag(option("gpu_memory_utilization", ratio)),
    "--kv-cache-memory-bytes": Flag(option("kv_cache_memory_bytes", human)),
    "--num-gpu-blocks-override": Flag(option("num_gpu_blocks_override", integer)),
    "--max-model-len": Flag(_length),
    "--max-num-seqs": Flag(option("max_num_seqs", human)),
    "--max-num-batched-tokens": Flag(option("max_num_batched_tokens", human)),
    "--block-size": Flag(option("block_size", integer)),
    "--enforce-eager": constant("enforce_eager", value=True),
    "--max-cudagraph-capture-size": Flag(option("max_cudagraph_capture_size", integer)),
    "--cudagraph-capture-sizes": Flag(_sizes),
    "--compilation-config": Flag(_compilation),
    "--enable-prefix-caching": constant("enable_prefix_caching", value=True),
    "--no-enable-prefix-caching": constant("enable_prefix_caching", value=False),
    "--async-scheduling": constant("async_scheduling", value=True),
    "--no-async-scheduling": constant("async_scheduling", value=False),
    "--disable-hybrid-kv-cache-manager": constant("disable_hybrid_kv_cache_manager", value=True),
    "--mamba-cache-mode": Flag(option("mamba_cache_mode", text)),
    "--mamba-ssm-cache-dtype": Flag(option("mamba_ssm_cache_dtype", text)),
    "--language-model-only": constant("language_model_only", value=True),
    "--cpu-offload-gb": Flag(option("cpu_offload_gb", ratio)),
    "--swap-space": Flag(option("swap_space", ratio)),
    "--enable-lora": Flag(_lora, Takes.NOTHING),
    "--max-loras": Flag(option("max_loras", integer)),
    "--max-lora-rank": Flag(option("max_lora_rank", integer)),
    "--fully-sharded-loras": constant("fully_sharded_loras", value=True),
    "--kv-cache-dtype": Flag(workload("kv_cache", KV_FORMATS.__getitem__)),
    "--quantization": Flag(_weights),
    "--dtype": Flag(_dtype),
    "--speculative-config": Flag(_speculative),
    "--speculative-config.method": Flag(_speculative_part("method")),
    "--speculative-config.num_speculative_tokens": Flag(_speculative_part("num_speculative_tokens")),
    "--speculative-config.model": Flag(_speculative_part("model")),
    "--spec-method": Flag(_speculative_part("method")),
    "--spec-tokens": Flag(_speculative_part("num_speculative_tokens")),
    "--spec-model": Flag(_speculative_part("model")),
    "--speculative-model": Flag(_speculative_part("model")),
    "--num-speculative-tokens": Flag(_speculative_part("num_speculative_tokens")),
    "--tensor-parallel-size": layout("tensor"),
    "--pipeline-parallel-size": layout("pipeline"),
    "--data-parallel-size": layout("data"),
    "--decode-context-parallel-size": layout("decode_context"),
    "--enable-expert-parallel": Flag(lambda found, _: found.scratch.update(expert=True), Takes.NOTHING),
}
_NOT_CONSIDERED = words(
    """
    --kv-offloading-size --kv-transfer-config --offload-backend --offload-group-size --offload-num-in-group
    --offload-params --cpu-offload-params --limit-mm-per-prompt --mm-encoder-only --enable-sleep-mode
    --prefill-context-parallel-size --mm-ipc-gpu-memory-gb --hf-overrides --max-num-active-seqs --engram-config
    --additional-config --rope-scaling --skip-mm-profiling --mamba-block-size --mamba-cache-dtype
    """
)
_ALIASES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-q": "--quantization",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-asc": "--async-scheduling",
    "-pcp": "--prefill-context-parallel-size",
    "-ac": "--attention-config",
    "-h": "--help",
    "-O": "--optimization-level",
    "-r": "--node-rank",
    "-n": "--nnodes",
    "-dpn": "--data-parallel-rank",
    "-dpl": "--data-parallel-size-local",
    "-dpa": "--data-parallel-address",
    "-dpp": "--data-parallel-rpc-port",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
}


def _spelling(written: str) -> str:
    """VLLM takes underscores for hyphens, `-O3` for a level, and `--no-` before any switch."""
    name = _ALIASES.get(written, written)
    head, dot, tail = name.partition(".")
    name = head.replace("_", "-") + dot + tail
    if name[:2] == "-O":
        return "--optimization-level"
    if name in EFFECTIVE:
        return name
    bare = "--" + name.removeprefix("--no-") if name.startswith("--no-") else name
    return bare if bare in NAMES else head.replace("_", "-") if head.replace("_", "-") in NAMES else name


TABLE = Table(
    engine="vllm",
    effective=EFFECTIVE,
    without_effect=NAMES - EFFECTIVE.keys() - _NOT_CONSIDERED,
    not_considered=_NOT_CONSIDERED,
    spelling=_spelling,
)


def finish(found: Found, environment: dict[str, str]) -> None:
    """What several options say together: adapters, drafts, expert parallelism; and the environment."""
    if found.scratch.get("lora"):
        found.workload["adapters"] = msgspec.convert(
            {"count": found.options.get("max_loras", 1), "rank": found.options.get("max_lora_rank", 16)}, Adapters
        )
    drafts = found.scratch.get("speculative")
    if drafts:
        found.workload["speculative"] = _drafted(drafts)
    if found.scratch.get("expert"):
        found.layout["expert"] = found.layout.get("tensor", 1) * found.layout.get("data", 1)
    for variable, field in (
        ("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "estimate_cudagraphs"),
        ("VLLM_USE_FLASHINFER_SAMPLER", "flashinfer_sampler"),
    ):
        if variable in environment:
            found.options[field] = switch(environment[variable])


def _drafted(drafts: dict[str, Any]) -> Speculative:
    """The drafter that a speculative configuration means; with a model alone it is a draft model."""
    model = drafts.get("model")
    method = _METHODS[str(drafts.get("method") or ("draft_model" if model else "ngram"))]
    named = str(model) if model and method is not SpeculativeMethod.MTP else None
    tokens = int(drafts.get("num_speculative_tokens", 1))
    return msgspec.convert({"method": method.value, "tokens": tokens, "model": named}, Speculative)
