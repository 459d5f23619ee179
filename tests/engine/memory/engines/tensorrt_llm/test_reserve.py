"""TensorRT-LLM's cache against measured concurrency."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.tensorrt_llm.options import Backend, TensorrtLlm
from cardmatch.engine.memory.engines.tensorrt_llm.reserve import reserve
from cardmatch.engine.memory.engines.tensorrt_llm.reserves import TensorrtLlmReserves
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import H100, LLAMA_8B, placement

OPTIONS = TensorrtLlm(kv_cache_free_gpu_memory_fraction=0.8, max_num_tokens=4096, max_batch_size=512)


def reserves_of(options: TensorrtLlm, layout: Layout) -> TensorrtLlmReserves:
    """What Llama-3.1-8B reserves on H100s."""
    job, _ = settle(Inference(engine=options), LLAMA_8B, plain())
    reserved = reserve(job, options, placement(H100, layout=layout), calibration().serving).reserves
    assert isinstance(reserved, TensorrtLlmReserves)
    return reserved


@pytest.mark.parametrize(("tensor", "requests"), [(1, 78), (2, 173), (4, 363)])
def test_a_share_of_what_is_free_holds_the_cache(tensor: int, requests: int) -> None:
    """Llama-3.1-8B ran 78, 173 and 363 requests of 5,096 tokens on 1, 2 and 4 H100s at 0.8 (aiconfigurator)."""
    reserved = reserves_of(OPTIONS, Layout(tensor=tensor))
    assert reserved.kv_cache_tokens / 5096 == pytest.approx(requests, rel=0.05)


def test_the_older_backend_had_larger_blocks() -> None:
    """Engines built by trtllm-build kept 64 tokens a block (TensorRT-LLM#2268), the PyTorch backend keeps 32."""
    assert reserves_of(OPTIONS, Layout()).tokens_per_block == 32
    old = TensorrtLlm(version="0.13.0", backend=Backend.TENSORRT)
    assert reserves_of(old, Layout()).tokens_per_block == 64


def test_max_tokens_caps_the_cache() -> None:
    """`max_tokens` of the cache configuration keeps the rest of the card free."""
    reserved = reserves_of(TensorrtLlm(max_tokens=65536), Layout())
    assert reserved.kv_cache_bytes <= 65536 * 131072 + GIB
