"""`python -m sglang.launch_server`: sglang 0.5.23 srt/arg_groups/fields, and names that older versions had."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.memory.arguments.names.sglang import NAMES
from cardmatch.engine.memory.arguments.table import Flag, Put, Table, Takes, constant, layout, option, words, workload
from cardmatch.engine.memory.arguments.values import human, integer, json, ratio, text
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.kv_formats import KvFormat

KV_FORMATS = {
    "auto": KvFormat.AUTO,
    "bf16": KvFormat.BF16,
    "bfloat16": KvFormat.BF16,
    "fp8_e4m3": KvFormat.FP8_E4M3,
    "fp8_e5m2": KvFormat.FP8_E5M2,
    "fp4_e2m1": KvFormat.NVFP4,
}
_METHODS = {
    "EAGLE": SpeculativeMethod.EAGLE,
    "EAGLE3": SpeculativeMethod.EAGLE3,
    "NEXTN": SpeculativeMethod.MTP,
    "MTP": SpeculativeMethod.MTP,
    "STANDALONE": SpeculativeMethod.DRAFT_MODEL,
    "NGRAM": SpeculativeMethod.NGRAM,
}
# Quantised when the weights are loaded; other methods are the checkpoint's own, which the model says.
_ONLINE = {"fp8": "fp8", "w8a8_fp8": "fp8", "bitsandbytes": "nf4", "blockwise_int8": "int8"}


def _weights(found: Found, value: str) -> None:
    if value in _ONLINE:
        found.workload["weights_if_plain"] = _ONLINE[value]
    else:
        found.needs_checkpoint = ("--quantization", value)


def _chunk(found: Found, value: str) -> None:
    """-1 turns chunks off: a prompt of any length is one batch."""
    if int(value) > 0:
        found.options["chunked_prefill_size"] = int(value)


def _scratch(key: str) -> Put:
    def put(found: Found, value: str) -> None:
        found.scratch[key] = value

    return put


def _largest(found: Found, value: str) -> None:
    found.options["cuda_graph_max_bs"] = max(int(size) for size in value.replace(",", " ").split())


def _graphs(found: Found, value: str) -> None:
    """Only a configuration that turns every graph off changes what is reserved."""
    phases = json(value)
    if phases and all(phase in ("disabled", {"backend": "disabled"}) for phase in phases.values()):
        found.options["disable_cuda_graph"] = True


EFFECTIVE = {
    "--mem-fraction-static": Flag(option("mem_fraction_static", ratio)),
    "--context-length": Flag(option("context_length", integer)),
    "--max-running-requests": Flag(option("max_running_requests", integer)),
    "--max-total-tokens": Flag(option("max_total_tokens", human)),
    "--chunked-prefill-size": Flag(_chunk),
    "--cuda-graph-max-bs": Flag(option("cuda_graph_max_bs", integer)),
    "--cuda-graph-max-bs-decode": Flag(option("cuda_graph_max_bs", integer)),
    "--cuda-graph-bs": Flag(_largest),
    "--cuda-graph-bs-decode": Flag(_largest),
    "--cuda-graph-config": Flag(_graphs),
    "--disable-cuda-graph": constant("disable_cuda_graph", value=True),
    "--disable-decode-cuda-graph": constant("disable_cuda_graph", value=True),
    "--disable-radix-cache": constant("disable_radix_cache", value=True),
    "--page-size": Flag(option("page_size", integer)),
    "--swa-full-tokens-ratio": Flag(option("swa_full_tokens_ratio", ratio)),
    "--mamba-full-memory-ratio": Flag(option("mamba_full_memory_ratio", ratio)),
    "--max-mamba-cache-size": Flag(option("max_mamba_cache_size", integer)),
    "--mamba-ssm-dtype": Flag(option("mamba_ssm_dtype", text)),
    "--enable-dp-attention": constant("enable_dp_attention", value=True),
    "--dp-size": Flag(_scratch("data")),
    "--language-model-only": constant("language_model_only", value=True),
    "--cpu-offload-gb": Flag(option("cpu_offload_gb", ratio)),
    "--max-loras-per-batch": Flag(option("max_loras_per_batch", integer)),
    "--max-lora-rank": Flag(option("max_lora_rank", integer)),
    "--lora-paths": Flag(_scratch("lora"), Takes.MAYBE),
    "--enable-lora": Flag(_scratch("lora"), Takes.NOTHING),
    "--kv-cache-dtype": Flag(workload("kv_cache", KV_FORMATS.__getitem__)),
    "--quantization": Flag(_weights),
    "--speculative-algorithm": Flag(_scratch("method")),
    "--speculative-num-steps": Flag(_scratch("steps")),
    "--speculative-num-draft-tokens": Flag(_scratch("tokens")),
    "--speculative-draft-model-path": Flag(_scratch("drafter")),
    "--tp-size": layout("tensor"),
    "--pp-size": layout("pipeline"),
    "--ep-size": layout("expert"),
    "--dcp-size": layout("decode_context"),
}
_NOT_CONSIDERED = words(
    """
    --enable-hierarchical-cache --enable-hicache --hicache-ratio --hicache-size --enable-two-batch-overlap
    --disaggregation-mode --offload-mode --offload-group-size --ple-offload-embedding --enable-memory-saver
    --enable-return-hidden-states --mm-preprocess-cache-size-mb --enable-prefix-mm-cache --json-model-override-args
    --disable-hybrid-swa-memory --enable-unified-memory --enable-hisparse --attn-cp-size --moe-dp-size
    --speculative-eagle-topk --speculative-draft-window-size --enable-draft-weights-cpu-backup --enable-eplb
    --ep-num-redundant-experts --enable-int8-mamba-checkpoint --enable-kv-cache-sharding --kt-num-gpu-experts
    """
)
_ALIASES = {
    "--tp": "--tp-size",
    "--tensor-parallel-size": "--tp-size",
    "--pp": "--pp-size",
    "--pipeline-parallel-size": "--pp-size",
    "--dp": "--dp-size",
    "--data-parallel-size": "--dp-size",
    "--ep": "--ep-size",
    "--expert-parallel-size": "--ep-size",
    "--decode-context-parallel-size": "--dcp-size",
    "--speculative-algo": "--speculative-algorithm",
    "--speculative-draft-model": "--speculative-draft-model-path",
    "-h": "--help",
}


def _spelling(written: str) -> str:
    name = _ALIASES.get(written, written)
    bare = "--" + name.removeprefix("--no-")
    return bare if name.startswith("--no-") and name not in NAMES and bare in NAMES else name


TABLE = Table(
    engine="sglang",
    effective=EFFECTIVE,
    without_effect=NAMES - EFFECTIVE.keys() - _NOT_CONSIDERED,
    not_considered=_NOT_CONSIDERED,
    spelling=_spelling,
)


def finish(found: Found, _: dict[str, str]) -> None:
    """What several options say together: data parallelism with or without shared weights, adapters, drafts."""
    data = int(found.scratch.get("data", 1))
    if found.options.get("enable_dp_attention"):
        found.options["dp_size"] = data
    elif data > 1:
        found.layout["data"] = data
    if "lora" in found.scratch:
        found.workload["adapters"] = msgspec.convert(
            {"count": found.options.get("max_loras_per_batch", 8), "rank": found.options.get("max_lora_rank", 16)},
            Adapters,
        )
    if "method" in found.scratch:
        method = _METHODS[found.scratch["method"].upper()]
        tokens = int(found.scratch.get("tokens") or found.scratch.get("steps") or 1)
        model = found.scratch.get("drafter") if method is not SpeculativeMethod.MTP else None
        found.workload["speculative"] = msgspec.convert(
            {"method": method.value, "tokens": tokens, "model": model}, Speculative
        )
