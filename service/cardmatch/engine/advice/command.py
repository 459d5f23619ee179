"""The command that starts one copy of an option: the engine's own, in the settings that were reckoned with."""

from __future__ import annotations

import msgspec

from cardmatch.engine.advice.candidates import AS_PUBLISHED, engine_name
from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.write import checkpoint_needed, written
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement

_AT_ONCE = {
    "vllm": "max_num_seqs",
    "sglang": "max_running_requests",
    "tensorrt_llm": "max_batch_size",
    "ollama": "num_parallel",
}
"""The option that says how many requests run at once; the others take it from the job."""


def command(
    model: str, engine: AnyEngine, job: ServingJob, where: Placement, weights: str, batch: int, published: str
) -> str:
    """What starts one copy of *model*, *published* in that format, for *batch* requests at once, on each machine.

    A checkpoint that somebody must quantise first stands as a folder of its own.
    """
    option = _AT_ONCE.get(engine_name(engine))
    if option is not None and option in engine.__struct_fields__:
        engine = msgspec.structs.replace(engine, **{option: batch})
    subject = Subject(
        model=model,
        quantised_to=None if weights == AS_PUBLISHED else weights,
        published=published,
        job=msgspec.structs.replace(job, concurrency=batch),
        engine=engine,
        placement=where,
        longest_tokens=job.context_tokens,
    )
    if checkpoint_needed(subject):
        folder = f"./{model.rpartition('/')[2]}-{weights}"
        subject = msgspec.structs.replace(subject, model=folder, quantised_to=None)
    return over_machines(written(subject) or f"transformers serve --force-model {model}", engine_name(engine), where)


def over_machines(start: str, engine: str, where: Placement) -> str:
    """*start* on *where*: on several machines the first is told of the others, or all of each other."""
    if where.nodes == 1:
        return start
    if engine == "sglang":
        return f"{start} --nnodes {where.nodes} --node-rank $RANK --dist-init-addr $FIRST:20000"
    if engine == "tensorrt_llm":
        return f"mpirun -n {where.count} --hostfile $HOSTS trtllm-llmapi-launch {start}"
    rest = f"ray start --address $FIRST:6379 --block  # on the other {where.nodes - 1}"
    return f"ray start --head --port 6379  # on the first\n{rest}\n{start} --distributed-executor-backend ray"
