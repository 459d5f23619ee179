"""What Ollama chooses where nothing is set (ollama v0.32.15 server/routes.go, server/sched.go)."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.device import whole_device
from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.architectures import QWEN_27B
from tests.engine.memory.engines.test_llama_cpp import LLAMA_8B, QWEN_7B, logged, placed


def answered(architecture: Architecture, engine: Ollama, gib: float, context: int = 8192) -> PlacementEstimate:
    """Four bits on one card of *gib*."""
    return placed(architecture, engine, context=context, gib=gib)


@pytest.mark.parametrize(
    ("gib", "version", "length"),
    [(12, "0.32.15", 4_096), (23.6, "0.32.15", 32_768), (79.2, "0.32.15", 131_072), (79.2, "0.9.6", 4_096)],
)
def test_the_length_goes_by_the_memory_of_the_gpus(gib: float, version: str, length: int) -> None:
    """4k below 23 GiB, 32k below 47, then 256k or what the model can; 4k everywhere before 0.15.5."""
    log = logged(answered(LLAMA_8B, Ollama(version=version, num_ctx_by_memory=True), gib))
    assert log.n_ctx_tokens == length


def test_a_length_that_is_set_stands() -> None:
    """Neither the GPU's memory nor the workload changes num_ctx; without either, the workload decides."""
    assert logged(answered(LLAMA_8B, Ollama(num_ctx=16_384, num_ctx_by_memory=True), 79.2)).n_ctx_tokens == 16_384
    assert logged(answered(LLAMA_8B, Ollama(), 79.2)).n_ctx_tokens == 8_192


def test_only_a_length_that_the_workload_gives_is_assumed() -> None:
    """What goes by the GPUs' memory differs from placement to placement, and stands in the engine's figures."""
    where = (Placement(device=whole_device(bundled().cards["rtx-4090"])),)

    def pointers(engine: Ollama) -> set[str]:
        found = estimate_serving(LLAMA_8B, plain(), Inference(engine=engine), where, calibration().serving)
        return {each.pointer for each in found.assumptions}

    assert "/workload/engine/num_ctx" in pointers(Ollama())
    assert "/workload/engine/num_ctx" not in pointers(Ollama(num_ctx_by_memory=True))


@pytest.mark.parametrize(
    ("gib", "context", "batch"),
    [(23.6, 4_096, 512), (23.6, 8_192, 1_024), (23.6, 65_536, 2_048), (12, 32_768, 1_024), (8, 32_768, 512)],
)
def test_micro_batches_grow_with_the_length_where_there_is_room(gib: float, context: int, batch: int) -> None:
    """Qwen2.5-7B in 4 bits takes 4.4 GiB and, as Ollama guesses, 56 KiB a token."""
    log = logged(answered(QWEN_7B, Ollama(num_ctx=context), gib, context))
    assert log.n_ubatch_tokens == batch


def test_a_27b_on_24_gb_stays_at_512() -> None:
    """At 65,536 tokens the log of 0.32.15 on a 3090 prints n_ubatch = 512: the model leaves no room for more."""
    assert logged(answered(QWEN_27B, Ollama(num_ctx=65_536), 23.59, 65_536)).n_ubatch_tokens == 512


def test_without_flash_attention_small_gpus_get_small_batches() -> None:
    """256 tokens up to 8 GiB, else 512 whatever the room."""
    engine = Ollama(num_ctx=8_192, flash_attention=FlashAttention.OFF)
    assert logged(answered(QWEN_7B, engine, 7.8)).n_ubatch_tokens == 256
    assert logged(answered(QWEN_7B, engine, 23.6)).n_ubatch_tokens == 512


def test_models_that_ollama_runs_one_request_at_a_time_have_one_slot() -> None:
    """Qwen3.5 ignores OLLAMA_NUM_PARALLEL."""
    assert logged(answered(QWEN_27B, Ollama(num_parallel=4), 79.2)).slots == 1
    assert logged(answered(LLAMA_8B, Ollama(num_parallel=4), 79.2)).slots == 4
