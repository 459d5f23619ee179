"""`vllm serve …`: vllm v0.33.0 engine/arg_utils.py."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.words import Written, layout_words, option_words
from cardmatch.engine.memory.engines.vllm.eras import era_of
from cardmatch.engine.memory.engines.vllm.notices import startable_utilization
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.speculation import Speculative, SpeculativeMethod
from cardmatch.engine.models.kv_formats import KvCache, KvFormat

_OPTIONS = {
    "gpu_memory_utilization": Written("--gpu-memory-utilization"),
    "kv_cache_memory_bytes": Written("--kv-cache-memory-bytes"),
    "num_gpu_blocks_override": Written("--num-gpu-blocks-override"),
    "max_num_seqs": Written("--max-num-seqs"),
    "max_num_batched_tokens": Written("--max-num-batched-tokens"),
    "block_size": Written("--block-size"),
    "enforce_eager": Written("--enforce-eager"),
    "max_cudagraph_capture_size": Written("--max-cudagraph-capture-size"),
    "enable_prefix_caching": Written("--enable-prefix-caching", "--no-enable-prefix-caching"),
    "async_scheduling": Written("--async-scheduling", "--no-async-scheduling"),
    "disable_hybrid_kv_cache_manager": Written("--disable-hybrid-kv-cache-manager"),
    "mamba_cache_mode": Written("--mamba-cache-mode"),
    "mamba_ssm_cache_dtype": Written("--mamba-ssm-cache-dtype"),
    "language_model_only": Written("--language-model-only"),
    "cpu_offload_gb": Written("--cpu-offload-gb"),
    "swap_space": Written("--swap-space"),
    "fully_sharded_loras": Written("--fully-sharded-loras"),
}
_LAYOUT = {
    "tensor": "--tensor-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
    "decode_context": "--decode-context-parallel-size",
}
_KV_FORMATS = {
    KvFormat.FP16: "float16",
    KvFormat.BF16: "bfloat16",
    KvFormat.FP8_E4M3: "fp8",
    KvFormat.FP8_E5M2: "fp8_e5m2",
    KvFormat.FP8_DS_MLA: "fp8_ds_mla",
    KvFormat.INT8: "int8_per_token_head",
    KvFormat.NVFP4: "nvfp4",
}
ONLINE = {
    "fp8": ("--quantization", "fp8"),
    "nf4": ("--quantization", "bitsandbytes"),
    "bf16": ("--dtype", "bfloat16"),
    "fp16": ("--dtype", "float16"),
    "fp32": ("--dtype", "float32"),
}
"""Formats that vLLM makes of 16-bit weights while it loads them."""
_VARIABLES = {
    "estimate_cudagraphs": "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
    "flashinfer_sampler": "VLLM_USE_FLASHINFER_SAMPLER",
}

_LONGER = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
"""Without it vLLM refuses a longer length than the model's own (vllm/config/model.py)."""


def command(subject: Subject) -> list[str]:
    """The words that start vLLM."""
    options = _beside_others(subject)
    return [
        *([f"{_LONGER}=1"] if subject.beyond_model else []),
        *_environment(options),
        "vllm",
        "serve",
        subject.source,
        *(subject.recast(ONLINE) or ()),
        "--max-model-len",
        str(subject.longest_tokens),
        *layout_words(subject.layout, _LAYOUT),
        *(["--enable-expert-parallel"] if subject.layout.expert > 1 else []),
        *_cache(subject.job.kv_cache, automatic=subject.job.automatic_cache),
        *option_words(options, _OPTIONS),
        *_speculation(subject.job.speculative),
        *_adapters(subject, options),
    ]


def _beside_others(subject: Subject) -> Vllm:
    """The options, with the share of the card at which vLLM starts beside what others hold."""
    options: Vllm = subject.engine
    if not subject.placement.occupied_bytes:
        return options
    era = era_of(options.version)
    asked = options.gpu_memory_utilization or era.utilization
    share = startable_utilization(asked, subject.placement, asks_first=era.asks_first)
    return options if share is None else msgspec.structs.replace(options, gpu_memory_utilization=share)


def _environment(options: Vllm) -> list[str]:
    said = {variable: getattr(options, field) for field, variable in _VARIABLES.items()}
    return [f"{variable}={int(value)}" for variable, value in said.items() if value is not None]


def _cache(kv_cache: KvCache, *, automatic: bool) -> list[str]:
    name = None if automatic or not isinstance(kv_cache, KvFormat) else _KV_FORMATS.get(kv_cache)
    return ["--kv-cache-dtype", name] if name else []


def _speculation(speculative: Speculative | None) -> list[str]:
    if speculative is None:
        return []
    said = {"method": speculative.method.value, "num_speculative_tokens": speculative.tokens}
    if speculative.model is not None and speculative.method is not SpeculativeMethod.MTP:
        said["model"] = speculative.model
    return ["--speculative-config", msgspec.json.encode(said).decode()]


def _adapters(subject: Subject, options: Vllm) -> list[str]:
    adapters = subject.job.adapters
    count = options.max_loras or (adapters.count if adapters else None)
    if count is None:
        return []
    rank = options.max_lora_rank or (adapters.rank if adapters else None)
    words = ["--enable-lora", "--max-loras", str(count)]
    return [*words, "--max-lora-rank", str(rank)] if rank else words
