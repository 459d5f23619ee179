"""What is remembered between requests never shows: answers do not depend on what was asked before."""

from __future__ import annotations

import itertools

import msgspec

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.reserve import planned
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.checkpoint import Checkpoint, plain
from cardmatch.engine.models.kv_formats import KvFormat
from tests.engine.memory.architectures import A100_80, GLM_5, GPT_OSS_120B, H100, LLAMA_8B, QWEN_27B, device

BF16 = plain()
WORKLOADS = (
    Inference(context_tokens=8192),
    Inference(context_tokens=100_000),
    Inference(context_tokens=8192, weights="fp8"),
    Inference(context_tokens=8192, kv_cache=KvFormat.FP8_E4M3),
    Inference(context_tokens=8192, adapters=Adapters(count=2)),
    Inference(context_tokens=8192, adapters=Adapters(count=2, rank=64)),
    Inference(context_tokens=8192, speculative=Speculative(method=SpeculativeMethod.EAGLE)),
    Inference(context_tokens=8192, speculative=Speculative(method=SpeculativeMethod.EAGLE3, tokens=3)),
    Inference(engine=Vllm(version="0.10.2"), context_tokens=8192),
    Inference(engine=Vllm(version="0.7.3"), context_tokens=8192),
    Inference(engine=Vllm(max_num_seqs=64), context_tokens=8192),
    Inference(engine=Vllm(cpu_offload_gb=3), context_tokens=8192),
)
PLACEMENTS = tuple(
    Placement(device=device(gib, compute_capability=capability), count=layout.gpus, layout=layout)
    for gib, capability in ((A100_80, "8.0"), (H100, "9.0"), (178.0, "10.0"))
    for layout in (Layout(), Layout(tensor=2), Layout(pipeline=2))
)
MODELS = (LLAMA_8B, QWEN_27B, GLM_5, GPT_OSS_120B)


def asked(index: int) -> tuple[PlacementEstimate, ...]:
    """The estimates of one combination of model and workload."""
    model, workload = list(itertools.product(MODELS, WORKLOADS))[index]
    checkpoint: Checkpoint = BF16
    return estimate_serving(model, checkpoint, workload, PLACEMENTS, calibration().serving).placements


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    """Alone in a fresh memory, or after every other request: the same bytes."""
    every = range(len(MODELS) * len(WORKLOADS))
    after_others = [msgspec.json.encode(asked(index)) for index in every]
    for index in every:
        planned.cache_clear()
        assert msgspec.json.encode(asked(index)) == after_others[index]
