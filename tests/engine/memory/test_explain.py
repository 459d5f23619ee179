"""Reckonings: every line works out to its result, and the lines of a component to its figure."""

from __future__ import annotations

import math

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import Backend, TensorrtLlm
from cardmatch.engine.memory.engines.transformers.options import (
    AttentionImplementation,
    CacheImplementation,
    Transformers,
)
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.explain.explanation import Component, Explanation, Rule
from cardmatch.engine.memory.explain.formulas import FORMULAS
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.speculation import Adapters, Speculative, SpeculativeMethod
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.architectures import (
    GEMMA_4_31B,
    GLM_5,
    GPT_OSS_120B,
    H100,
    H200,
    LLAMA_8B,
    LLAMA_70B,
    QWEN_27B,
    placement,
)

_ROUNDING = 64
"""Bytes by which lines that are rounded one by one may differ from a sum that is rounded once."""

MODELS = {"llama": LLAMA_8B, "gemma": GEMMA_4_31B, "qwen": QWEN_27B, "gpt_oss": GPT_OSS_120B, "glm": GLM_5}
ENGINES: dict[str, AnyEngine] = {
    "vllm": Vllm(),
    "vllm_old": Vllm(version="0.10.2", cpu_offload_gb=2),
    "sglang": Sglang(cpu_offload_gb=1),
    "tensorrt_llm": TensorrtLlm(max_tokens=100_000),
    "tensorrt_llm_engine": TensorrtLlm(backend=Backend.TENSORRT),
    "transformers": Transformers(),
    "transformers_eager": Transformers(attn_implementation=AttentionImplementation.EAGER),
    "llama_cpp": LlamaCpp(),
    "ollama": Ollama(gpu_overhead_bytes=1 << 30),
    "lm_studio": LmStudio(),
}


def explained(model: Architecture, workload: Inference, where: Placement) -> PlacementEstimate:
    """The estimate with its reckoning."""
    found = estimate_serving(model, plain(), workload, (where,), calibration().serving, explained=True)
    return found.placements[0]


def worked_out(line: Explanation) -> float:
    """What the formula gives for the numbers of *line*."""
    names = {"floor": math.floor, "ceil": math.ceil, "min": min, "max": max, **line.numbers}
    return float(eval(line.formula, {"__builtins__": {}}, names))  # noqa: S307 - formulas of the project itself


def sums(found: PlacementEstimate) -> dict[Component, int]:
    """What the lines of each component add up to."""
    lines = found.explanation or ()
    return {part: sum(line.result_bytes for line in lines if line.component is part) for part in Component}


def check(found: PlacementEstimate) -> None:
    """Every line works out, and together they are the figures of the fullest GPU."""
    for line in found.explanation or ():
        assert worked_out(line) == pytest.approx(line.result_bytes, abs=2), line
        assert line.source.file.endswith((".py", ".cpp", ".cu"))
    parts, gpu = sums(found), found.per_gpu
    assert parts[Component.WEIGHTS] == pytest.approx(gpu.weights_bytes, abs=_ROUNDING)
    assert parts[Component.CACHE] == gpu.kv_cache_bytes + gpu.recurrent_state_bytes
    assert parts[Component.ACTIVATIONS] == pytest.approx(gpu.activations_bytes, abs=_ROUNDING)
    assert parts[Component.OVERHEAD] == pytest.approx(gpu.overhead_bytes, abs=_ROUNDING)
    assert parts[Component.BUDGET] == found.budget_bytes


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("engine", list(ENGINES))
def test_lines_add_up_to_the_figures(model: str, engine: str) -> None:
    """For every engine, over models with windows, states, experts and latents."""
    workload = Inference(
        engine=ENGINES[engine],
        context_tokens=20_000,
        mean_tokens_per_request=9_000,
        concurrency=6,
        shared_prefix_tokens=3_000,
    )
    if engine.startswith("transformers"):
        workload = Inference(engine=ENGINES[engine], context_tokens=2_000, concurrency=3)
    check(explained(MODELS[model], workload, placement(H200, occupied_bytes=1 << 30)))


@pytest.mark.parametrize(
    "layout",
    [Layout(tensor=2), Layout(tensor=16), Layout(pipeline=4), Layout(tensor=4, expert=4), Layout(tensor=2, data=2)],
    ids=str,
)
@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm", "transformers"])
def test_lines_add_up_on_several_gpus(layout: Layout, engine: str) -> None:
    """Split, copied, in stages, by experts, in data-parallel copies."""
    model = GPT_OSS_120B if layout.expert > 1 else LLAMA_70B
    workload = Inference(engine=ENGINES[engine], context_tokens=4_000, concurrency=5)
    check(explained(model, workload, placement(H100, layout=layout)))


@pytest.mark.parametrize("engine", [Vllm(max_loras=3, fully_sharded_loras=True), Sglang(), TensorrtLlm()])
def test_adapters_and_drafters_have_lines_of_their_own(engine: AnyEngine) -> None:
    """LoRA slots and the weights of a drafting head."""
    workload = Inference(
        engine=engine,
        context_tokens=4_000,
        adapters=Adapters(count=2, rank=64),
        speculative=Speculative(method=SpeculativeMethod.EAGLE3, tokens=3),
    )
    found = explained(LLAMA_8B, workload, placement(H100, layout=Layout(tensor=2)))
    check(found)
    assert {Rule.LORA_SLOTS, Rule.DRAFTER} <= {line.rule for line in found.explanation or ()}


def test_a_static_cache_is_reckoned_at_full_length() -> None:
    """Transformers allocates it whole: two requests of 4,000 tokens at 128 KiB each, however short they are."""
    engine = Transformers(cache_implementation=CacheImplementation.STATIC)
    workload = Inference(engine=engine, context_tokens=4_000, mean_tokens_per_request=100, concurrency=2)
    found = explained(LLAMA_8B, workload, placement(H100))
    check(found)
    assert found.per_gpu.kv_cache_bytes == 2 * 4_000 * 131_072


def test_a_line_says_its_numbers_and_where_the_rule_stands() -> None:
    """VLLM's budget on an H100: 0.92 of what CUDA sees."""
    found = explained(LLAMA_8B, Inference(context_tokens=8192), placement(H100))
    lines = {line.rule: line for line in found.explanation or ()}
    budget = lines[Rule.BUDGET_SHARE]
    assert budget.numbers["utilization"] == 0.92
    assert (budget.source.engine, budget.source.version) == ("vllm", "0.33.0")
    assert budget.source.file == "v1/worker/gpu_worker.py"
    graphs = lines[Rule.GRAPHS].measured
    assert graphs is not None
    assert graphs.rows >= 15


def test_no_reckoning_is_given_unless_it_is_asked_for() -> None:
    """It is null, and every rule has a formula for when it is not."""
    found = estimate_serving(LLAMA_8B, plain(), Inference(), (placement(H100),), calibration().serving)
    assert found.placements[0].explanation is None
    assert FORMULAS.keys() == set(Rule)
