"""Commands: what they say is what was counted, so that reading one back gives the same estimate."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest

from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.write import written
from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention, LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.vllm.options import MambaCacheMode, Vllm, VllmStateDtype
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.memory.architectures import GEMMA_4_31B, H100, LLAMA_8B, QWEN_27B, placement
from tests.engine.memory.test_right_values import BF16, estimate

Q4 = "gguf:Q4_K_M"
CASES: dict[str, tuple[Architecture, Inference]] = {
    "vllm": (LLAMA_8B, Inference(context_tokens=8192, concurrency=16)),
    "vllm_options": (
        QWEN_27B,
        Inference(
            engine=Vllm(
                gpu_memory_utilization=0.95,
                max_num_seqs=32,
                max_num_batched_tokens=4096,
                enforce_eager=True,
                enable_prefix_caching=False,
                mamba_cache_mode=MambaCacheMode.NONE,
                mamba_ssm_cache_dtype=VllmStateDtype.BFLOAT16,
                language_model_only=True,
                async_scheduling=False,
                estimate_cudagraphs=False,
                flashinfer_sampler=True,
            ),
            context_tokens=32768,
            kv_cache=KvFormat.FP8_E4M3,
            weights="fp8",
            speculative=Speculative(method=SpeculativeMethod.EAGLE3, tokens=3, model="org/head"),
        ),
    ),
    "vllm_adapters": (
        LLAMA_8B,
        Inference(
            engine=Vllm(kv_cache_memory_bytes=8_000_000_000, fully_sharded_loras=True, block_size=32),
            context_tokens=4096,
            adapters=Adapters(count=4, rank=32),
        ),
    ),
    "vllm_windows": (
        GEMMA_4_31B,
        Inference(engine=Vllm(disable_hybrid_kv_cache_manager=True, cpu_offload_gb=4.5), context_tokens=65536),
    ),
    "sglang": (
        QWEN_27B,
        Inference(
            engine=Sglang(
                mem_fraction_static=0.8,
                chunked_prefill_size=4096,
                cuda_graph_max_bs=64,
                mamba_full_memory_ratio=0.5,
                max_running_requests=64,
                page_size=16,
                disable_radix_cache=True,
            ),
            context_tokens=16384,
            kv_cache=KvFormat.FP8_E5M2,
            adapters=Adapters(count=2, rank=8),
            speculative=Speculative(method=SpeculativeMethod.MTP, tokens=2),
        ),
    ),
    "tensorrt_llm": (
        LLAMA_8B,
        Inference(
            engine=TensorrtLlm(max_batch_size=64, max_num_tokens=4096, kv_cache_free_gpu_memory_fraction=0.8),
            context_tokens=8192,
            kv_cache=KvFormat.FP8_E4M3,
        ),
    ),
    "llama_cpp": (LLAMA_8B, Inference(engine=LlamaCpp(), context_tokens=8192, concurrency=4, weights=Q4)),
    "llama_cpp_options": (
        LLAMA_8B,
        Inference(
            engine=LlamaCpp(
                n_parallel=3, n_ubatch=256, n_gpu_layers=20, flash_attention=FlashAttention.ON, mmap=False, fit=False
            ),
            context_tokens=5000,
            weights="gguf:BF16",
            kv_cache=KvFormats(k=KvFormat.Q8_0, v=KvFormat.Q4_0),
        ),
    ),
    "ollama": (
        LLAMA_8B,
        Inference(
            engine=Ollama(gpu_overhead_bytes=1 << 30),
            context_tokens=8192,
            concurrency=2,
            weights=Q4,
            kv_cache=KvFormat.Q8_0,
        ),
    ),
    "lm_studio": (LLAMA_8B, Inference(engine=LmStudio(gpu_layers=20), context_tokens=8192, weights=Q4)),
}


def placed(model: Architecture, workload: Inference, tensor: int = 1) -> PlacementEstimate:
    """The estimate on H100s."""
    return estimate(model, BF16, workload, "h100-sxm-80", tensor=tensor).placements[0]


@pytest.mark.parametrize("tensor", [1, 2])
@pytest.mark.parametrize("case", list(CASES))
def test_reading_a_command_back_gives_the_same_estimate(case: str, tensor: int) -> None:
    """Length, options, formats, drafters, adapters and layout are all in the command."""
    model, workload = CASES[case]
    first = placed(model, workload, tensor)
    assert first.command is not None
    same = {name: getattr(workload, name) for name in ("context_tokens", "concurrency")}
    if isinstance(workload.engine, Ollama):
        same["weights"] = workload.weights  # which `ollama serve` is not told
    again = placed(model, Inference(engine=_told(workload.engine, first.command), **same), tensor)
    assert again.per_gpu == first.per_gpu
    assert again.engine_reserves == first.engine_reserves
    assert (again.verdict, again.max_context_tokens) == (first.verdict, first.max_context_tokens)


def _told(engine: Any, command: str) -> Any:
    return type(engine)(args=command)


def test_the_command_names_the_length_that_the_verdict_assumes() -> None:
    """Llama 3.1 would take 131,072 tokens by itself; asked for 8,192, the command says so."""
    model, workload = CASES["vllm"]
    assert placed(model, workload, 2).command == "vllm serve MODEL --max-model-len 8192 --tensor-parallel-size 2"


def test_a_command_is_safe_to_paste() -> None:
    """Whatever a model is called, it stays one word of the shell."""
    model, workload = CASES["vllm"]
    job, _ = settle(workload, model, BF16)
    name = "org/a; rm -rf $HOME `id` 'x'"
    subject = Subject(
        model=name, quantised_to=None, job=job, engine=workload.engine, placement=placement(H100), longest_tokens=8192
    )
    command = written(subject)
    assert command is not None
    assert shlex.split(command)[2] == name


def test_weights_that_the_engine_cannot_make_itself_are_another_checkpoint() -> None:
    """VLLM quantises to fp8 while loading; 4-bit AWQ has to be made before."""
    model, workload = CASES["vllm"]
    online = placed(model, msgspec.structs.replace(workload, weights="fp8")).command or ""
    assert online.startswith("vllm serve MODEL --quantization fp8 ")
    ready = placed(model, msgspec.structs.replace(workload, weights="awq_int4"))
    assert ready.command is None
    assert NoticeCode.CHECKPOINT_NEEDED in {notice.code for notice in ready.notices}


def test_a_gguf_file_is_named_by_its_format() -> None:
    """As the files that people publish are: the name and then the quantisation."""
    workload = Inference(engine=LlamaCpp(), context_tokens=4096, weights="gguf:Q4_K_M")
    assert (placed(LLAMA_8B, workload).command or "").startswith("llama-server -m MODEL-Q4_K_M.gguf -c 4096 -np ")
    in_vllm = msgspec.structs.replace(workload, engine=Vllm())
    assert (placed(LLAMA_8B, in_vllm).command or "").startswith("vllm serve MODEL-Q4_K_M.gguf --max-model-len 4096")


def test_transformers_has_no_command() -> None:
    """It is a library."""
    model, _ = CASES["vllm"]
    assert placed(model, Inference(engine=Transformers(), context_tokens=8192)).command is None
