"""Formats that an engine does not load or keep its cache in are refused, with those that it does."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.supported import SUPPORTED
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.fault import FaultCode, Invalid
from tests.engine.memory.architectures import LLAMA_8B
from tests.engine.memory.test_right_values import BF16, estimate


def refused(engine: AnyEngine, card: str = "h100-sxm-80", **workload: Any) -> tuple[FaultCode, str, tuple[str, ...]]:
    """Code, pointer and suggestions of the fault."""
    with pytest.raises(Invalid) as invalid:
        estimate(LLAMA_8B, BF16, Inference(engine=engine, context_tokens=4096, **workload), card)
    fault = invalid.value.faults[0]
    return fault.code, fault.pointer, fault.suggestions


@pytest.mark.parametrize("engine", [Vllm(), Sglang(), TensorrtLlm()])
@pytest.mark.parametrize("cache", [KvFormat.Q4_0, KvFormat.Q8_0, KvFormats(k=KvFormat.FP8_E4M3, v=KvFormat.BF16)])
def test_servers_of_safetensors_keep_no_ggml_cache(engine: AnyEngine, cache: Any) -> None:
    """Neither q4_0 nor q8_0 is a --kv-cache-dtype, and keys and values share one."""
    code, pointer, suggestions = refused(engine, kv_cache=cache)
    assert (code, pointer) == (FaultCode.NOT_WITH_ENGINE, "/workload/kv_cache")
    assert "fp8_e4m3" in suggestions


@pytest.mark.parametrize(
    ("engine", "weights"),
    [(Vllm(), "exl3"), (LlamaCpp(), "awq_int4"), (Ollama(), "gptq_int4"), (TensorrtLlm(), "gguf:Q4_K_M")],
)
def test_weights_that_an_engine_cannot_load_are_refused(engine: AnyEngine, weights: str) -> None:
    """ExLlamaV3 files are for ExLlamaV3, AWQ and GPTQ for servers of safetensors, GGUF for llama.cpp and few others."""
    code, pointer, suggestions = refused(engine, weights=weights)
    assert (code, pointer) == (FaultCode.NOT_WITH_ENGINE, "/workload/weights")
    assert suggestions


def test_llama_cpp_has_no_8_bit_floats() -> None:
    """Its cache types are ggml's."""
    code, pointer, suggestions = refused(LlamaCpp(), kv_cache=KvFormat.FP8_E4M3)
    assert (code, pointer, suggestions[0]) == (FaultCode.NOT_WITH_ENGINE, "/workload/kv_cache", "q8_0")


def test_the_latent_format_needs_latent_attention() -> None:
    """The 656 bytes a token of fp8_ds_mla hold a latent vector, which Llama does not have."""
    assert refused(Vllm(), kv_cache=KvFormat.FP8_DS_MLA)[0] is FaultCode.NOT_WITH_MODEL


def test_an_nvfp4_cache_needs_blackwell() -> None:
    """An H100 has no kernels that read it; a B200 does."""
    assert refused(Vllm(), kv_cache=KvFormat.NVFP4)[0] is FaultCode.NOT_WITH_CARD
    workload = Inference(engine=Vllm(), context_tokens=4096, kv_cache=KvFormat.NVFP4)
    assert estimate(LLAMA_8B, BF16, workload, "b200").placements


def test_every_row_has_a_source() -> None:
    """Each engine's formats come from a file of a version."""
    assert all(row.source and row.weights and row.cache for row in SUPPORTED.values())
