"""`python -m sglang.launch_server …`: sglang v0.5.23 srt/arg_groups/fields."""

from __future__ import annotations

from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.words import Written, layout_words, option_words
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.speculation import Speculative, SpeculativeMethod
from cardmatch.engine.models.kv_formats import KvCache, KvFormat

_OPTIONS = {
    "mem_fraction_static": Written("--mem-fraction-static"),
    "max_running_requests": Written("--max-running-requests"),
    "max_total_tokens": Written("--max-total-tokens"),
    "chunked_prefill_size": Written("--chunked-prefill-size"),
    "cuda_graph_max_bs": Written("--cuda-graph-max-bs"),
    "disable_cuda_graph": Written("--disable-cuda-graph"),
    "disable_radix_cache": Written("--disable-radix-cache"),
    "page_size": Written("--page-size"),
    "swa_full_tokens_ratio": Written("--swa-full-tokens-ratio"),
    "mamba_full_memory_ratio": Written("--mamba-full-memory-ratio"),
    "max_mamba_cache_size": Written("--max-mamba-cache-size"),
    "mamba_ssm_dtype": Written("--mamba-ssm-dtype"),
    "enable_dp_attention": Written("--enable-dp-attention"),
    "language_model_only": Written("--language-model-only"),
    "cpu_offload_gb": Written("--cpu-offload-gb"),
}
_LAYOUT = {
    "tensor": "--tp-size",
    "pipeline": "--pp-size",
    "data": "--dp-size",
    "expert": "--ep-size",
    "decode_context": "--dcp-size",
}
_KV_FORMATS = {
    KvFormat.BF16: "bfloat16",
    KvFormat.FP8_E4M3: "fp8_e4m3",
    KvFormat.FP8_E5M2: "fp8_e5m2",
    KvFormat.NVFP4: "fp4_e2m1",
}
_METHODS = {
    SpeculativeMethod.MTP: "NEXTN",
    SpeculativeMethod.EAGLE: "EAGLE",
    SpeculativeMethod.EAGLE3: "EAGLE3",
    SpeculativeMethod.DRAFT_MODEL: "STANDALONE",
    SpeculativeMethod.NGRAM: "NGRAM",
}
ONLINE = {
    "fp8": ("--quantization", "fp8"),
    "nf4": ("--quantization", "bitsandbytes"),
    "bf16": ("--dtype", "bfloat16"),
    "fp16": ("--dtype", "float16"),
    "fp32": ("--dtype", "float32"),
}
"""Formats that SGLang makes of 16-bit weights while it loads them."""

_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
"""Without it SGLang refuses a longer length than the model's own (srt/configs/model_config.py)."""


def command(subject: Subject) -> list[str]:
    """The words that start SGLang."""
    options: Sglang = subject.engine
    return [
        *([f"{_LONGER}=1"] if subject.beyond_model else []),
        "python",
        "-m",
        "sglang.launch_server",
        "--model-path",
        subject.source,
        *(subject.recast(ONLINE) or ()),
        "--context-length",
        str(subject.longest_tokens),
        *layout_words(subject.layout, _LAYOUT),
        *_cache(subject.job.kv_cache, automatic=subject.job.automatic_cache),
        *option_words(options, _OPTIONS),
        *(["--dp-size", str(options.dp_size)] if options.enable_dp_attention and options.dp_size > 1 else []),
        *_speculation(subject.job.speculative),
        *_adapters(subject, options),
    ]


def _cache(kv_cache: KvCache, *, automatic: bool) -> list[str]:
    name = None if automatic or not isinstance(kv_cache, KvFormat) else _KV_FORMATS.get(kv_cache)
    return ["--kv-cache-dtype", name] if name else []


def _speculation(speculative: Speculative | None) -> list[str]:
    if speculative is None:
        return []
    words = ["--speculative-algorithm", _METHODS[speculative.method]]
    words += ["--speculative-num-draft-tokens", str(speculative.tokens)]
    if speculative.model is not None and speculative.method is not SpeculativeMethod.MTP:
        words += ["--speculative-draft-model-path", speculative.model]
    return words


def _adapters(subject: Subject, options: Sglang) -> list[str]:
    adapters = subject.job.adapters
    count = options.max_loras_per_batch or (adapters.count if adapters else None)
    if count is None:
        return []
    rank = options.max_lora_rank or (adapters.rank if adapters else None)
    words = ["--enable-lora", "--max-loras-per-batch", str(count)]
    return [*words, "--max-lora-rank", str(rank)] if rank else words
