"""Command lines as people post them, read into options."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.arguments.names.llama_cpp import NAMES as LLAMA_NAMES
from cardmatch.engine.memory.arguments.names.vllm import NAMES as VLLM_NAMES
from cardmatch.engine.memory.arguments.read import Read, laid_out, read_arguments
from cardmatch.engine.memory.engines.llama_cpp.eras import MlaEra
from cardmatch.engine.memory.engines.llama_cpp.options import Draft, FlashAttention, LlamaCpp, Variant
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode

MODEL = Architecture(
    family="llama",
    hidden_size=4096,
    vocabulary_size=128256,
    layer_groups=(LayerGroup(blocks=(Attention(query_heads=32, kv_heads=8, head_size=128), Dense(width=14336))),),
    layer_order=(0,) * 32,
    maximum_context_tokens=131_072,
)


def told(engine: Any) -> Read:
    """What the engine's command line says."""
    return read_arguments(Inference(engine=engine), MODEL, plain())


def arguments_of(read: Read, code: NoticeCode) -> list[str]:
    """The options that a notice names."""
    return [name for notice in read.notices if notice.code is code for name in notice.params["arguments"]]  # type: ignore[union-attr]


def test_vllm_serve_over_several_lines() -> None:
    """The command of a model card: length, cache format, tensor parallelism, and what changes no memory."""
    line = """VLLM_USE_FLASHINFER_SAMPLER=0 vllm serve meta-llama/Llama-3.1-8B-Instruct \\
      --max-model-len 16k --gpu-memory-utilization 0.85 --max_num_seqs=64 -tp 2 \\
      --kv-cache-dtype fp8 --enforce-eager --no-enable-prefix-caching --port 8000 --trust-remote-code -O3"""
    read = told(Vllm(args=line))
    engine = read.workload.engine
    assert isinstance(engine, Vllm)
    assert (engine.max_model_len, engine.gpu_memory_utilization, engine.max_num_seqs) == (16_000, 0.85, 64)
    assert (engine.enforce_eager, engine.enable_prefix_caching, engine.flashinfer_sampler) == (True, False, False)
    assert (read.workload.kv_cache, read.layout) == (KvFormat.FP8_E4M3, Layout(tensor=2))
    assert arguments_of(read, NoticeCode.OPTIONS_WITHOUT_EFFECT) == ["--port", "--trust-remote-code", "-O3"]


def test_vllm_without_a_length_takes_the_models_own() -> None:
    """Vllm derives --max-model-len from the configuration where nobody says it."""
    engine = told(Vllm(args="vllm serve some/model")).workload.engine
    assert isinstance(engine, Vllm)
    assert engine.max_model_len == 131_072


def test_vllm_in_a_container_with_drafts_and_adapters() -> None:
    """What stands before the image is the container's business; JSON options are looked into."""
    line = (
        "docker run --runtime nvidia --gpus all --name vllm -v models:/cache -p 8000:8000 --ipc=host "
        "vllm/vllm-openai:v0.20.0 --model some/model --max-model-len 8192 --enable-lora --max-loras 4 "
        """--max-lora-rank 32 --speculative-config '{"method": "mtp", "num_speculative_tokens": 2}' """
        "--quantization fp8 --served-model-name vllm"
    )
    read = told(Vllm(args=line))
    assert read.workload.adapters == Adapters(count=4, rank=32)
    assert read.workload.speculative == Speculative(method=SpeculativeMethod.MTP, tokens=2)
    assert read.workload.weights == "fp8"
    assert "--served-model-name" in arguments_of(read, NoticeCode.OPTIONS_WITHOUT_EFFECT)


def test_llama_server_as_posted_in_issues() -> None:
    """Short and long spellings, cache types of both sides, and several slots."""
    line = "./build/bin/llama-server -m model.gguf -c 65536 -ngl 99 -fa on -ctk q8_0 -ctv q4_0 -np 2 -ub 1024 --jinja"
    read = told(LlamaCpp(args=line))
    engine = read.workload.engine
    assert isinstance(engine, LlamaCpp)
    assert (engine.n_ctx, engine.n_gpu_layers, engine.n_parallel, engine.n_ubatch) == (65536, 33, 2, 1024)
    assert engine.flash_attention is FlashAttention.ON
    assert read.workload.kv_cache == KvFormats(k=KvFormat.Q8_0, v=KvFormat.Q4_0)
    assert arguments_of(read, NoticeCode.OPTIONS_WITHOUT_EFFECT) == ["--jinja"]


def test_llama_server_with_experts_in_ram_and_drafts() -> None:
    """An override and -ncmoe keep experts in RAM; a bare -fa is on; MTP drafts by the model's own layers."""
    line = r"llama-server -hf some/model:Q4_K_M -ncmoe 12 -ot '\.ffn_.*_exps\.=CPU' -fa --spec-type draft-mtp"
    engine = told(LlamaCpp(args=line + " --spec-draft-n-max 2")).workload.engine
    assert isinstance(engine, LlamaCpp)
    assert (engine.n_cpu_moe, engine.override_tensors[0].pattern) == (12, r"\.ffn_.*_exps\.")
    assert (engine.draft, engine.draft_tokens, engine.flash_attention) == (Draft.MTP, 2, FlashAttention.ON)


def test_options_of_the_fork_make_it_the_fork() -> None:
    """-mla and -fmoe exist in ik_llama.cpp alone."""
    engine = told(LlamaCpp(args="llama-server -m x.gguf -c 32768 -mla 3 -fmoe -amb 512")).workload.engine
    assert isinstance(engine, LlamaCpp)
    assert (engine.variant, engine.mla) == (Variant.IK, MlaEra.KEYS_ONLY)


def test_builds_before_fit_take_4096_tokens() -> None:
    """Without -c, builds before December 2025 took 4096; later ones take what fits, so the workload's length stands."""
    old, new = (told(LlamaCpp(version=build, args="llama-server -m x.gguf")) for build in ("b6000", "b9000"))
    assert [getattr(each.workload.engine, "n_ctx") for each in (old, new)] == [4096, None]  # noqa: B009


def test_sglang_launch_server() -> None:
    """Static share, graphs, data-parallel attention and its ranks."""
    line = (
        "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention "
        "--mem-fraction-static 0.8 --cuda-graph-max-bs 128 --kv-cache-dtype fp8_e4m3 --chunked-prefill-size -1 "
        "--speculative-algorithm NEXTN --speculative-num-draft-tokens 4 --host 0.0.0.0"
    )
    read = told(Sglang(args=line))
    engine = read.workload.engine
    assert isinstance(engine, Sglang)
    assert (engine.mem_fraction_static, engine.cuda_graph_max_bs, engine.dp_size) == (0.8, 128, 8)
    assert (engine.enable_dp_attention, engine.context_length, read.layout) == (True, 131_072, Layout(tensor=8))
    assert read.workload.speculative == Speculative(method=SpeculativeMethod.MTP, tokens=4)


def test_trtllm_serve_takes_either_spelling() -> None:
    """Underscores or hyphens, long names or short."""
    line = "trtllm-serve some/model --tp_size 4 --max-batch-size 64 --kv_cache_free_gpu_memory_fraction 0.8"
    read = told(TensorrtLlm(args=line))
    engine = read.workload.engine
    assert isinstance(engine, TensorrtLlm)
    assert (engine.max_batch_size, engine.kv_cache_free_gpu_memory_fraction) == (64, 0.8)
    assert read.layout == Layout(tensor=4)


def test_ollama_environment_and_modelfile() -> None:
    """Ollama is told by variables and by PARAMETER lines."""
    lines = "PARAMETER num_ctx 16384\nPARAMETER temperature 0.7\n"
    line = "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_NUM_PARALLEL=2 OLLAMA_KEEP_ALIVE=1h ollama serve"
    read = told(Ollama(args=lines + line))
    engine = read.workload.engine
    assert isinstance(engine, Ollama)
    assert (engine.num_ctx, engine.num_parallel, engine.flash_attention) == (16384, 2, FlashAttention.ON)
    assert read.workload.kv_cache is KvFormat.Q8_0
    assert arguments_of(read, NoticeCode.OPTIONS_WITHOUT_EFFECT) == ["temperature", "OLLAMA_KEEP_ALIVE"]


def test_ollama_without_a_length_takes_its_own() -> None:
    """The length by the GPU's memory and one request at a time, where neither the environment nor the request says."""
    engine = told(Ollama(args="ollama run llama3.1")).workload.engine
    assert isinstance(engine, Ollama)
    assert (engine.num_ctx, engine.num_ctx_by_memory, engine.num_parallel) == (None, True, 1)
    engine = told(Ollama(args="ollama run llama3.1", num_ctx=8192, num_parallel=2)).workload.engine
    assert isinstance(engine, Ollama)
    assert (engine.num_ctx, engine.num_ctx_by_memory, engine.num_parallel) == (8192, False, 2)


def test_lms_load_by_share_of_layers() -> None:
    """Half of 32 layers and the output are 16."""
    engine = told(LmStudio(args="lms load some/model --gpu 0.5 --context-length 8192")).workload.engine
    assert isinstance(engine, LmStudio)
    assert (engine.gpu_layers, engine.context_length) == (16, 8192)


@pytest.mark.parametrize(
    ("engine", "argument", "suggestion"),
    [
        (Vllm(args="vllm serve m --max-model-length 8192"), "--max-model-length", "--max-model-len"),
        (Sglang(args="--mem-fraction-statc 0.8"), "--mem-fraction-statc", "--mem-fraction-static"),
        (LlamaCpp(args="llama-server --ctx-sise 4096"), "--ctx-sise", "--ctx-size"),
        (TensorrtLlm(args="trtllm-serve m --max_batchsize 4"), "--max_batchsize", "--max_batch_size"),
    ],
)
def test_a_mistyped_option_is_a_fault_with_what_was_meant(engine: Any, argument: str, suggestion: str) -> None:
    """Nothing is ignored in silence."""
    with pytest.raises(Invalid) as caught:
        told(engine)
    fault = caught.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.ARGUMENT_UNKNOWN, "/workload/engine/args")
    assert (fault.params["argument"], fault.suggestions[0]) == (argument, suggestion)


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve m --gpu-memory-utilization 1.7",
        "vllm serve m --max-model-len lots",
        "vllm serve m --kv-cache-dtype fp9",
        'vllm serve m --speculative-config \'{"method": "telepathy"}\'',
        "vllm serve m --gpu-memory-utilization nan",
        "vllm serve 'm --max-model-len 8192",
    ],
)
def test_a_value_that_cannot_be_is_a_fault(line: str) -> None:
    """Bounds are those of the option's own field."""
    with pytest.raises(Invalid) as caught:
        told(Vllm(args=line))
    assert caught.value.faults[0].code is FaultCode.ARGUMENT_WRONG_VALUE


WORD = st.one_of(
    st.sampled_from([*sorted(VLLM_NAMES | LLAMA_NAMES), "vllm", "serve", "-1", "{}", "0", "on", "nan", "inf", "q8_0"]),
    st.text(max_size=12),
)


@given(st.lists(WORD, min_size=1, max_size=8), st.sampled_from([Vllm, LlamaCpp, Sglang, TensorrtLlm, Ollama, LmStudio]))
def test_any_text_is_read_or_refused(words: list[str], engine: Any) -> None:
    """Whatever stands in a command line, the answer is options or a fault, never an accident."""
    with contextlib.suppress(Invalid):
        told(engine(args=" ".join(words)))


def test_an_option_at_the_end_without_its_value_is_a_fault() -> None:
    """`--max-model-len` needs a figure."""
    with pytest.raises(Invalid) as caught:
        told(Vllm(args="vllm serve m --max-model-len"))
    assert caught.value.faults[0].code is FaultCode.ARGUMENT_WITHOUT_VALUE


def test_one_card_stands_for_as_many_as_the_command_takes() -> None:
    """A request that names a card once gets the layout of the command; another number is a fault."""
    device = Device(card="x", physical_bytes=1, memory_bytes=1, memory_low_bytes=1, memory_high_bytes=1)
    placed = laid_out(Placement(device=device), Layout(tensor=2, pipeline=2), 0)
    assert (placed.count, placed.layout) == (4, Layout(tensor=2, pipeline=2))
    with pytest.raises(Invalid):
        laid_out(Placement(device=device, count=3), Layout(tensor=2), 0)
