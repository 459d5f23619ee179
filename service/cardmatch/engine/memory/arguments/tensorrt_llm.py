"""`trtllm-serve`: TensorRT-LLM 1.2 tensorrt_llm/commands/serve.py."""

from __future__ import annotations

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.memory.arguments.names.tensorrt_llm import NAMES
from cardmatch.engine.memory.arguments.table import Flag, Table, constant, layout, option, workload
from cardmatch.engine.memory.arguments.values import integer, ratio
from cardmatch.engine.models.kv_formats import KvFormat

_KV_FORMATS = {"auto": KvFormat.AUTO, "fp8": KvFormat.FP8_E4M3, "nvfp4": KvFormat.NVFP4}


def _backend(found: Found, value: str) -> None:
    found.options["backend"] = "tensorrt" if value in {"trt", "tensorrt"} else "pytorch"


EFFECTIVE = {
    "--max_batch_size": Flag(option("max_batch_size", integer)),
    "--max_num_tokens": Flag(option("max_num_tokens", integer)),
    "--max_seq_len": Flag(option("max_seq_len", integer)),
    "--backend": Flag(_backend),
    "--free_gpu_memory_fraction": Flag(option("kv_cache_free_gpu_memory_fraction", ratio)),
    "--kv_cache_dtype": Flag(workload("kv_cache", _KV_FORMATS.__getitem__)),
    "--enable_attention_dp": constant("enable_attention_dp", value=True),
    "--tensor_parallel_size": layout("tensor"),
    "--pipeline_parallel_size": layout("pipeline"),
    "--moe_expert_parallel_size": layout("expert"),
}
_NOT_CONSIDERED = frozenset(
    {"--config", "--extra_llm_api_options", "--max_beam_width", "--context_parallel_size", "--cp_size"}
)
_ALIASES = {
    "--tp_size": "--tensor_parallel_size",
    "--pp_size": "--pipeline_parallel_size",
    "--ep_size": "--moe_expert_parallel_size",
    "--kv_cache_free_gpu_memory_fraction": "--free_gpu_memory_fraction",
}


def _spelling(written: str) -> str:
    name = "--" + written.removeprefix("--").replace("-", "_")
    return _ALIASES.get(name, name)


TABLE = Table(
    engine="tensorrt_llm",
    effective=EFFECTIVE,
    without_effect=NAMES - EFFECTIVE.keys() - _NOT_CONSIDERED,
    not_considered=_NOT_CONSIDERED,
    spelling=_spelling,
)


def finish(_: Found, __: dict[str, str]) -> None:
    """No options of TensorRT-LLM say something together."""
