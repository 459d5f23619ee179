"""What is particular to encoders: the memory of a copy, the workload to post, and the lines that start and drive it."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.advice.answer import Step
from cardmatch.engine.advice.items.bench import Held, Trade
from cardmatch.engine.advice.items.encoder_trials import Encoding
from cardmatch.engine.advice.items.plan import SEND, WATCH
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.memory.encode.estimate import placed
from cardmatch.engine.memory.encode.job import EncodeJob
from cardmatch.engine.memory.encode.workload import EncodeTask

_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp8": "fp8", "int8": "int8"}
_PORT = 7997
_PROMPTS = 2000


def encoder_trade(encoding: Encoding) -> Trade:
    """The trade of *encoding*."""
    name = encoding.subject.named.command_name

    def job_of(found: Tried) -> EncodeJob:
        job = found.variant.job if found.variant else None
        return job if isinstance(job, EncodeJob) else encoding.job

    return Trade(
        held=lambda found: _held(encoding, job_of(found), found),
        workload=lambda found: _workload(encoding, job_of(found)),
        command=lambda found: _command(name, job_of(found)),
        steps=lambda found, command: _steps(name, job_of(found), command),
    )


def _held(encoding: Encoding, job: EncodeJob, found: Tried) -> Held:
    memory = placed(job, found.placement, 0, encoding.context, ())
    return Held(
        verdict=memory.verdict,
        bound_by="process",
        diffusion=None,
        encoding=memory.per_gpu,
        budget_bytes=memory.budget_bytes,
        headroom_bytes=memory.headroom_bytes,
        host_bytes=0,
        weights_bytes=job.weights,
        format=job.checkpoint.format,
        at_once=max(1, job.batch // max(job.windows, 1)),
        notices=memory.notices,
    )


def _workload(encoding: Encoding, job: EncodeJob) -> dict[str, Any]:
    """The workload as it was reckoned, to be posted to /cost; its texts as long as the load's are on average."""
    asked = msgspec.to_builtins(job.workload)
    found = {name: value for name, value in asked.items() if value is not None} | {"batch": job.batch}
    if job.workload.task is EncodeTask.SPEECH:
        return found | {"audio_seconds": asked["audio_seconds"] or 30.0}
    return found | {"sequence_tokens": encoding.demand.prompt_tokens}


def _command(model: str, job: EncodeJob) -> str:
    """A server for texts and pairs; for speech one recording written down."""
    if job.workload.task is EncodeTask.SPEECH:
        return f"insanely-fast-whisper --model-name {model} --batch-size {job.batch} --file-name recording.mp3"
    dtype = _DTYPES.get(job.checkpoint.format, "auto")
    return f"infinity_emb v2 --model-id {model} --dtype {dtype} --batch-size {job.batch} --port {_PORT}"


def _steps(model: str, job: EncodeJob, command: str) -> tuple[Step, ...]:
    """Install, start, watch, drive, send back."""
    if job.workload.task is EncodeTask.SPEECH:
        return (
            Step(minutes=10, command="pip install insanely-fast-whisper"),
            Step(minutes=1, command=WATCH),
            Step(minutes=15, command=f"time {command}"),
            Step(minutes=4, command=SEND),
        )
    ranks = job.workload.task is EncodeTask.RERANK
    kind, path = ("vllm-rerank", "/rerank") if ranks else ("openai-embeddings", "/embeddings")
    drive = (
        f"vllm bench serve --backend {kind} --base-url http://127.0.0.1:{_PORT} --endpoint {path} --model {model} "
        f"--dataset-name {'random-rerank' if ranks else 'random'} --random-input-len {job.tokens} "
        f"--num-prompts {_PROMPTS} --max-concurrency {2 * job.batch}"
    )
    return (
        Step(minutes=10, command='pip install "infinity-emb[all]" vllm'),
        Step(minutes=5, command=command),
        Step(minutes=1, command=WATCH),
        Step(minutes=10, command=drive),
        Step(minutes=4, command=SEND),
    )
