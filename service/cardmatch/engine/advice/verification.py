"""Half an hour that shows whether the prediction holds: the four metrics of the guides, on the stack to be deployed."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.advice.answer import (
    Metric,
    RecommendedOption,
    Step,
    Verification,
    memory_of,
    ratios_of,
    spare_of,
)
from cardmatch.engine.advice.candidates import engine_name
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import SpeedBand
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.money.option import Predicted, Reported
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.speed.reports.report import Tool

_PROMPTS_PER_SLOT = 8
_INSTALL = {
    "vllm": "pip install vllm transformers accelerate",
    "sglang": 'pip install "sglang[all]"',
    "tensorrt_llm": "pip install tensorrt-llm",
    "llama_cpp": "cmake -B build -DGGML_CUDA=ON && cmake --build build --config Release -j",
    "ollama": "curl -fsSL https://ollama.com/install.sh | sh",
    "lm_studio": "npx lmstudio install-cli",
    "transformers": 'pip install "transformers[serving]" accelerate',
}
_WATCH = "nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1"
_POST = "curl -s $CARDMATCH/cost -H 'Content-Type: application/json' -d @-"
SEND_REPORT = f"jq --rawfile text bench.json '.options[0].throughput.text = $text' report.json | {_POST}"
"""`report.json` is the plan's `report`, `bench.json` what the load generator wrote."""

PASTE_THE_REPORT = "paste the tool's output here"


def verification(option: RecommendedOption, engine: AnyEngine, demand: Demand, model: str) -> Verification:
    """The plan for *option*: install, start, watch, drive, send back."""
    name = engine_name(engine)
    batch = (
        max(1, math.ceil(option.speed.requests_at_once / option.copies))
        if option.speed and option.speed.requests_at_once
        else 1
    )
    tool, drive = _drive(name, demand, model, batch, option)
    steps = (
        Step(minutes=10, command=_INSTALL[name]),
        Step(minutes=5, command=option.command),
        Step(minutes=1, command=_WATCH),
        Step(minutes=10, command=drive),
        Step(minutes=4, command=SEND_REPORT),
    )
    return Verification(option=option.id, steps=steps, metrics=_metrics(option, demand), report=_report(option, tool))


def _drive(name: str, demand: Demand, model: str, batch: int, option: RecommendedOption) -> tuple[Tool, str]:
    """The load generator: the engine's own where it has one, else vLLM's against the OpenAI-compatible server."""
    if name in {"llama_cpp", "ollama", "lm_studio"}:
        file = next((part for part in option.command.split() if part.endswith(".gguf")), f"{model}.gguf")
        lengths = f"-p {demand.prompt_tokens} -n {demand.output_tokens}"
        layers = _after(option.command, "-ngl") or "999"
        return Tool.LLAMA_BENCH, f"llama-bench -m {file} {lengths} -ngl {layers} -fa 1 -o json > bench.json"
    served = _after(option.command, "serve") or _after(option.command, "--model-path") or model
    prompts = max(_PROMPTS_PER_SLOT * batch, _PROMPTS_PER_SLOT)
    if name == "sglang":
        return Tool.SGLANG_BENCH, (
            f"python -m sglang.bench_serving --backend sglang --model {served} --dataset-name random "
            f"--random-input-len {demand.prompt_tokens} --random-output-len {demand.output_tokens} "
            f"--num-prompts {prompts} --max-concurrency {batch} --output-file bench.json"
        )
    return Tool.VLLM_BENCH, (
        f"vllm bench serve --model {served} --dataset-name random --random-input-len {demand.prompt_tokens} "
        f"--random-output-len {demand.output_tokens} --ignore-eos --num-prompts {prompts} "
        f"--max-concurrency {batch} --save-result --result-filename bench.json "
        "--percentile-metrics ttft,tpot,e2el --metric-percentiles 95"
    )


def _after(command: str, word: str) -> str | None:
    """The word of *command* that follows *word*."""
    words = command.split()
    return words[words.index(word) + 1] if word in words[:-1] else None


def _metrics(option: RecommendedOption, demand: Demand) -> tuple[Metric, ...]:
    """Tokens per second, latency, memory to spare, cost of the finished work: row 26."""
    speed, memory = option.speed, memory_of(option)
    scale = demand.output_tokens
    seconds = _slow_request(speed, demand) if speed else None
    spare, cost = spare_of(option.budget_bytes, memory) if memory else None, option.cost
    least, most = ratios_of(option) or (1.0, 1.0)
    tokens = speed.expected_units_per_second * scale if speed else None
    return (
        Metric(
            metric="output_tokens_per_second",
            unit="tokens_per_second",
            low=None if tokens is None else tokens * least,
            expected=tokens,
            high=None if tokens is None else tokens * most,
        ),
        Metric(
            metric="request_latency",
            unit="seconds",
            low=None if seconds is None else seconds / most,
            expected=seconds,
            high=None if seconds is None else seconds / least,
        ),
        Metric(
            metric="headroom_bytes",
            unit="bytes",
            low=spare[0] if spare else None,
            expected=spare[1] if spare else None,
            high=spare[2] if spare else None,
        ),
        Metric(
            metric="cost_per_finished_work",
            unit="usd",
            low=cost.total.low_usd if cost else None,
            expected=cost.total.expected_usd if cost else None,
            high=cost.total.high_usd if cost else None,
        ),
    )


def _slow_request(speed: SpeedBand, demand: Demand) -> float | None:
    """What nineteen in twenty stay below: as queued for, else a first token twice as late, as the speed room has it."""
    if speed.request_p95_seconds is not None or speed.ttft_seconds is None or speed.tpot_seconds is None:
        return speed.request_p95_seconds
    return _LATE * speed.ttft_seconds + max(demand.output_tokens - 1, 0) * speed.tpot_seconds


_LATE = 2


def _report(option: RecommendedOption, tool: Tool) -> CostQuestion | None:
    """The question of the option with the tool's report in place of the prediction, which stays beside it."""
    question = option.cost_request
    if question is None:
        return None
    asked = question.options[0]
    predicted = asked.throughput if isinstance(asked.throughput, Predicted) else None
    report = Reported(tool=tool, text=PASTE_THE_REPORT, prediction=predicted)
    return msgspec.structs.replace(question, options=(msgspec.structs.replace(asked, throughput=report),))
