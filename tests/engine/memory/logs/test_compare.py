"""Predicted beside logged, and what an error comes from."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.estimate import ServingEstimate, estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.engine.terms.units import GIB

LLAMA_8B = Architecture(
    family="llama",
    hidden_size=4096,
    vocabulary_size=128256,
    layer_groups=(
        LayerGroup(
            blocks=(Attention(query_heads=32, kv_heads=8, head_size=128), Dense(width=14336)), small_parameters=8192
        ),
    ),
    layer_order=(0,) * 32,
    maximum_context_tokens=131_072,
    small_parameters=4096,
)
OLLAMA_2024 = """
llm_load_tensors: offloaded 33/33 layers to GPU
llm_load_tensors:        CPU buffer size =   281.81 MiB
llm_load_tensors:      CUDA0 buffer size =  4403.49 MiB
llama_new_context_with_model: n_ctx      = 8192
llama_new_context_with_model: n_batch    = 512
llama_new_context_with_model: n_ubatch   = 512
llama_new_context_with_model: flash_attn = 0
llama_kv_cache_init:      CUDA0 KV buffer size =  1024.00 MiB
llama_new_context_with_model: KV self size  = 1024.00 MiB, K (f16):  512.00 MiB, V (f16):  512.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   560.00 MiB
llama_new_context_with_model:  CUDA_Host compute buffer size =    24.01 MiB
"""
"""A load of Llama-3.1-8B Q4_K_M in four slots of 2048 (Ollama, 2024)."""


def estimated(log: str, workload: Inference, gib: float = 24, *, ways: bool = False) -> ServingEstimate:
    """The estimate of a request with *log* on a card of *gib*."""
    size = int(gib * GIB)
    device = Device(card=None, physical_bytes=size, memory_bytes=size, memory_low_bytes=size, memory_high_bytes=size)
    asked = Inference(**{name: getattr(workload, name) for name in workload.__struct_fields__} | {"engine_log": log})
    others = (Placement(device=Device(**{n: getattr(device, n) for n in device.__struct_fields__})),) if ways else ()
    placements = (Placement(device=device),)
    return estimate_serving(LLAMA_8B, plain(), asked, placements, calibration().serving, alternatives=others)


def test_buffers_of_a_load_beside_what_was_predicted() -> None:
    """Settings come from the log, so weights, cache and compute agree within a few per cent."""
    workload = Inference(engine=LlamaCpp(version="b3600"), weights="gguf:Q4_K_M")
    reading = estimated(OLLAMA_2024, workload).engine_log
    assert reading is not None
    found = {figure.figure: figure for figure in reading.figures}
    for name in ("devices/0/model_bytes", "devices/0/kv_cache_bytes", "devices/0/compute_bytes", "host_model_bytes"):
        difference = found[name].difference_percent
        assert difference is not None, name
        assert abs(difference) < 2, name
    assert reading.cause is None


def test_a_log_names_the_engine_where_the_request_does_not() -> None:
    """A request without an engine is about the engine of its log."""
    reading = estimated(OLLAMA_2024, Inference(weights="gguf:Q4_K_M")).engine_log
    assert reading is not None
    assert reading.engine == "llama_cpp"


def test_a_log_gives_the_weights_where_the_request_does_not() -> None:
    """The file's mix stands in its log; what a request says of the weights goes first."""
    log = f"print_info: file type   = Q4_K - Medium\n{OLLAMA_2024}"
    engine = LlamaCpp(version="b3600")
    assert (
        estimated(log, Inference(engine=engine)).need == estimated(OLLAMA_2024, Inference(weights="gguf:Q4_K_M")).need
    )
    other = estimated(log, Inference(engine=engine, weights="gguf:Q8_0"))
    assert other.need == estimated(OLLAMA_2024, Inference(weights="gguf:Q8_0")).need


def test_a_log_of_another_engine_is_refused() -> None:
    """A question about one engine with the log of another is a mistake, and says whose log it is."""
    with pytest.raises(Invalid) as caught:
        estimated(OLLAMA_2024, Inference(engine=Vllm(enforce_eager=True)))
    fault = caught.value.faults[0]
    assert (fault.code, fault.suggestions) == (FaultCode.LOG_OF_OTHER_ENGINE, ("llama_cpp",))


def test_a_refusal_for_length_gives_the_length_that_fits() -> None:
    """The engine's own figure is the first fix (the words of vllm#34076)."""
    log = (
        "vllm ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (4.25 GiB). Based on the available memory, the "
        "estimated maximum model length is 34816."
    )
    reading = estimated(log, Inference()).engine_log
    assert reading is not None
    assert reading.cause is not None
    assert reading.cause.code is NoticeCode.LOG_CACHE_BELOW_LENGTH
    change = reading.fixes[0].changes[0]
    assert (change.pointer, change.value) == ("/workload/engine/max_model_len", 34816)


def test_memory_held_by_others_gives_the_share_that_is_free() -> None:
    """61 % of the card is free, so that utilisation starts."""
    log = (
        "vllm ValueError: Free memory on device cuda:0 (14.5/23.69 GiB) on startup is less than desired GPU memory "
        "utilization (0.92, 21.8 GiB)."
    )
    reading = estimated(log, Inference()).engine_log
    assert reading is not None
    change = reading.fixes[0].changes[0]
    assert (change.pointer, change.value) == ("/workload/engine/gpu_memory_utilization", 0.61)


def test_a_log_of_several_gpus_places_the_job_on_as_many() -> None:
    """Two devices in the log are two cards, whatever the request names."""
    log = OLLAMA_2024 + "llama_new_context_with_model:      CUDA1 compute buffer size =   560.00 MiB\n"
    placement = estimated(log, Inference(engine=LlamaCpp(), weights="gguf:Q4_K_M")).placements[0]
    assert (placement.count, placement.layout) == (2, Layout(pipeline=2))
