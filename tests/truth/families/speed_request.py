"""A row of speed as the job, the place and the load that its author had, and the time that was measured."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine, arranged, reserve
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.speed.chip import chip_of
from cardmatch.engine.speed.pace import EngineKind
from cardmatch.engine.speed.shape import shape_of
from cardmatch.engine.speed.steady import constant_load
from cardmatch.engine.terms.fault import Invalid
from tests.truth.cases import Case, Skipped
from tests.truth.world import TruthWorld
from tools.calibrate.speed import Observation

ENGINES: dict[str, tuple[EngineKind, AnyEngine]] = {
    "vllm": (EngineKind.VLLM, Vllm()),
    "sglang": (EngineKind.SGLANG, Sglang()),
    "tensorrt_llm": (EngineKind.TENSORRT_LLM, TensorrtLlm()),
    "llama_cpp": (EngineKind.LLAMA_CPP, LlamaCpp()),
    "ollama": (EngineKind.OLLAMA, Ollama()),
    "exllamav2": (EngineKind.EXLLAMA, LlamaCpp()),
}
LAYER_SPLIT = {"llama_cpp", "ollama", "exllamav2"}
UNSTATED_OUTPUT = 500
"""Tokens that a single stream writes where nobody says: they only set how much cache is read."""

FP8_CACHE = {"fp8", "nvfp4"}
"""Checkpoints that TensorRT-LLM's tables serve with an FP8 cache (their quantisation recipe says so)."""


def prepare_language(case: Case, world: TruthWorld) -> Observation:
    """The row as an observation. Raises Skipped with the reason."""
    setup, kind = case.setup, case.setup["kind"]
    _check(setup, world)
    engine, options = ENGINES[setup["engine"]]
    layout = _layout(setup)
    prompt = setup["prompt_tokens"] or 0
    output = setup["output_tokens"] or (UNSTATED_OUTPUT if kind == "decode_single" else 0)
    job = _job(case, options, prompt + output, world)
    shape = shape_of(job)
    quantity, seconds = _measured(case, kind, output)
    return Observation(
        case=case.id,
        source=case.origin,
        card=setup["card"],
        group=_group(setup, engine, kind, mixture=shape.is_mixture),
        quantity=quantity,
        engine=engine,
        chip=chip_of(world.catalogue.cards[setup["card"]]),
        kernel=shape.kernel,
        mixture=shape.is_mixture,
        ranks=layout.tensor * layout.pipeline,
        asked_link=Link.PCIE if "form factor not stated" in (setup["card_text"] or "") else None,
        copies=layout.data,
        prompt_tokens=prompt,
        load=constant_load(shape, layout, _batch(setup, options, job, layout, world), prompt, output),
        seconds=seconds,
    )


def _check(setup: dict[str, Any], world: TruthWorld) -> None:
    if setup["engine"] not in ENGINES:
        raise Skipped(f"engine {setup['engine']}")
    if setup["card"] not in world.catalogue.cards:
        raise Skipped("card not stated or not in the catalogue")
    needed = ["prompt_tokens"] if setup["kind"] == "prefill" else []
    if setup["kind"].startswith("serving"):
        needed = ["prompt_tokens", "output_tokens"]
    if any(setup[field] is None for field in needed):
        raise Skipped("lengths not stated")


def _job(case: Case, options: AnyEngine, tokens: int, world: TruthWorld) -> ServingJob:
    model, setup = world.model(case.model), case.setup
    recipe = setup["engine"] == "tensorrt_llm" and case.model.checkpoint in FP8_CACHE
    small_cache = recipe or "kv cache fp8" in (case.note or "")
    workload = Inference(
        engine=options,
        weights=case.model.checkpoint or "as_published",
        context_tokens=max(tokens, 16),
        concurrency=setup["concurrency"] or 1,
        kv_cache=KvFormat.FP8_E4M3 if small_cache else KvFormat.AUTO,
    )
    try:
        return settle(workload, model.architecture, model.checkpoint)[0]
    except Invalid as invalid:
        raise Skipped(f"refused: {invalid}") from None


def _batch(setup: dict[str, Any], options: AnyEngine, job: ServingJob, layout: Layout, world: TruthWorld) -> float:
    """Requests that one copy runs at once: as many as were asked for, where they are served as many as memory holds."""
    asked = (setup["concurrency"] or 0) / layout.data
    if setup["kind"] != "serving_offline" or setup["static_batch"]:
        return max(asked, 1.0)
    device = world.device(setup["card"], None)
    if device is None:
        raise Skipped("memory of the card not known")
    where = arranged(options, Placement(device=device, count=layout.gpus, layout=layout))
    reserved = reserve(job, options, where, world.catalogue.calibration.serving)
    slots = place(job, where, reserved).max_concurrency / layout.data
    if slots < 1:
        raise Skipped("does not fit by the memory room")
    return max(1.0, min(slots, asked) if asked else slots)


def _measured(case: Case, kind: str, output: int) -> tuple[str, float]:
    """What was measured, as a time; rates and latencies in the quantity that the prediction gives."""
    setup, got = case.setup, case.measured
    rate, tpot = got["output_tokens_per_second"], got["tpot_ms"]
    total = got["total_tokens_per_second"]
    if kind == "prefill":
        if total is None and got["ttft_ms"] is None:
            raise Skipped("no rate")
        return "prefill", 1 / total if total else got["ttft_ms"] / 1e3 / setup["prompt_tokens"]
    if kind == "decode_single":
        if rate is None and tpot is None:
            raise Skipped("no rate")
        return "single", 1 / rate if rate else tpot / 1e3
    if kind == "serving_online" and tpot is not None and setup["concurrency"]:
        return "tpot", tpot / 1e3
    if kind == "serving_online" and setup["concurrency"] is None:
        raise Skipped("concurrency not stated")
    if rate is None and total is None:
        raise Skipped("no rate")
    tokens = output if rate else output + (setup["prompt_tokens"] if got["total_is_prompt_plus_output"] else 0)
    return "rate", tokens / (rate or total)


def _layout(setup: dict[str, Any]) -> Layout:
    count, tensor, pipeline = setup["count"] or 1, setup["tensor_parallel"] or 1, setup["pipeline_parallel"] or 1
    if setup["engine"] in LAYER_SPLIT:
        return Layout(pipeline=count)
    return Layout(tensor=tensor, pipeline=pipeline, data=max(1, count // (tensor * pipeline)))


def _group(setup: dict[str, Any], engine: EngineKind, kind: str, *, mixture: bool) -> str:
    if kind == "prefill":
        return f"{engine} prefill"
    sort = "mixture" if mixture else "dense"
    if setup["burst"]:
        return f"{engine} {sort}, bursts"
    if setup["static_batch"]:
        return f"{engine} {sort}, static batch"
    return f"{engine} {sort}"
