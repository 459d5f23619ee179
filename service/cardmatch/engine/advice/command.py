"""The command that starts one copy of an option, for each engine, with the lengths and formats that were reckoned with.

Flags are those of the engines' own documentation at the versions that the memory room computes.
"""

from __future__ import annotations

from collections.abc import Callable

from cardmatch.engine.advice.candidates import engine_name
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.kv_formats import KvFormat

_VLLM_QUANTIZATION = {"fp8": "fp8"}
"""Formats that vLLM makes by itself while loading; the others are checkpoints that somebody quantised."""


def command(model: str, engine: AnyEngine, job: ServingJob, layout: Layout, weights: str, batch: int) -> str:
    """The command line of one copy of *model* for *batch* requests at once."""
    return _COMMANDS[engine_name(engine)](model, job, layout, weights, batch)


def _vllm(model: str, job: ServingJob, layout: Layout, weights: str, batch: int) -> str:
    parts = ["vllm serve", model, f"--max-model-len {job.context_tokens}", f"--max-num-seqs {batch}"]
    parts += _ranks(layout, "--tensor-parallel-size", "--pipeline-parallel-size")
    if weights in _VLLM_QUANTIZATION:
        parts.append(f"--quantization {_VLLM_QUANTIZATION[weights]}")
    if isinstance(job.kv_cache, KvFormat) and not job.automatic_cache:
        parts.append(f"--kv-cache-dtype {job.kv_cache.value}")
    return " ".join(parts)


def _sglang(model: str, job: ServingJob, layout: Layout, weights: str, batch: int) -> str:
    parts = ["python -m sglang.launch_server --model-path", model, f"--context-length {job.context_tokens}"]
    parts += [f"--max-running-requests {batch}", *_ranks(layout, "--tp-size", "--pp-size")]
    if weights in _VLLM_QUANTIZATION:
        parts.append(f"--quantization {_VLLM_QUANTIZATION[weights]}")
    if isinstance(job.kv_cache, KvFormat) and not job.automatic_cache:
        parts.append(f"--kv-cache-dtype {job.kv_cache.value}")
    return " ".join(parts)


def _tensorrt_llm(model: str, job: ServingJob, layout: Layout, _weights: str, batch: int) -> str:
    parts = ["trtllm-serve", model, f"--max_seq_len {job.context_tokens}", f"--max_batch_size {batch}"]
    return " ".join([*parts, *_ranks(layout, "--tp_size", "--pp_size")])


def _llama_cpp(model: str, job: ServingJob, _layout: Layout, weights: str, batch: int) -> str:
    kind = weights.removeprefix("gguf:") if weights.startswith("gguf:") else "F16"
    parts = [f"llama-server -m {model.rpartition('/')[2]}-{kind}.gguf -ngl 999 -fa on"]
    parts += [f"-c {job.context_tokens * batch}", f"-np {batch}"]
    if isinstance(job.kv_cache, KvFormat) and not job.automatic_cache:
        parts.append(f"-ctk {job.kv_cache.value} -ctv {job.kv_cache.value}")
    return " ".join(parts)


def _ollama(model: str, job: ServingJob, _layout: Layout, _weights: str, batch: int) -> str:
    name = model.rpartition("/")[2].lower()
    return f"OLLAMA_NUM_PARALLEL={batch} OLLAMA_CONTEXT_LENGTH={job.context_tokens} ollama serve & ollama run {name}"


def _lm_studio(model: str, job: ServingJob, _layout: Layout, _weights: str, _batch: int) -> str:
    return f"lms load {model.rpartition('/')[2]} --context-length {job.context_tokens} --gpu max && lms server start"


def _transformers(model: str, _job: ServingJob, _layout: Layout, _weights: str, _batch: int) -> str:
    return f"transformers serve --force-model {model}"


def _ranks(layout: Layout, tensor: str, pipeline: str) -> list[str]:
    found = [f"{tensor} {layout.tensor}"] if layout.tensor > 1 else []
    return [*found, f"{pipeline} {layout.pipeline}"] if layout.pipeline > 1 else found


_COMMANDS: dict[str, Callable[[str, ServingJob, Layout, str, int], str]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "tensorrt_llm": _tensorrt_llm,
    "llama_cpp": _llama_cpp,
    "ollama": _ollama,
    "lm_studio": _lm_studio,
    "transformers": _transformers,
}
