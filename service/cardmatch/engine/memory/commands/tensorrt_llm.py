"""`trtllm-serve …`: TensorRT-LLM 1.2 tensorrt_llm/commands/serve.py."""

from __future__ import annotations

from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.words import Written, layout_words, option_words
from cardmatch.engine.models.kv_formats import KvFormat

_OPTIONS = {
    "backend": Written("--backend"),
    "kv_cache_free_gpu_memory_fraction": Written("--kv_cache_free_gpu_memory_fraction"),
    "max_batch_size": Written("--max_batch_size"),
    "max_num_tokens": Written("--max_num_tokens"),
    "enable_attention_dp": Written("--enable_attention_dp"),
}
_LAYOUT = {"tensor": "--tp_size", "pipeline": "--pp_size", "expert": "--ep_size"}
_KV_FORMATS = {KvFormat.FP8_E4M3: "fp8", KvFormat.NVFP4: "nvfp4"}


def command(subject: Subject) -> list[str]:
    """The words that start TensorRT-LLM; options that only its configuration file has are not among them."""
    kv_cache = subject.job.kv_cache
    asked = isinstance(kv_cache, KvFormat) and not subject.job.automatic_cache
    name = _KV_FORMATS.get(kv_cache) if isinstance(kv_cache, KvFormat) and asked else None
    return [
        "trtllm-serve",
        subject.name,
        "--max_seq_len",
        str(subject.longest_tokens),
        *layout_words(subject.layout, _LAYOUT),
        *(["--kv_cache_dtype", name] if name else []),
        *option_words(subject.engine, _OPTIONS),
    ]
