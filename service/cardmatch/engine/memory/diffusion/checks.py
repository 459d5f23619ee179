"""What a diffusion request may not ask for, each with what would be right."""

from __future__ import annotations

from collections.abc import Iterator

from cardmatch.engine.memory.diffusion.formats import ABSENT, BYTES, bits_of
from cardmatch.engine.memory.diffusion.workload import ComponentOffload, Diffusion, Task
from cardmatch.engine.models.diffusion.component import Medium, Pipeline, Transformer, UNet
from cardmatch.engine.models.ggml import GGML_TYPES
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_TRAINING = ("lora_rank", "gradient_checkpointing", "optimizer", "cache_latents")
_MAKING = ("vae_tiling", "vae_slicing")
_TUNING = [Task.LORA.value, Task.FULL.value]


def check(workload: Diffusion, pipeline: Pipeline) -> None:
    """Raise Invalid with every contradiction between *workload* and *pipeline*; pointers are into the request."""
    faults = tuple(_faults(workload, pipeline))
    if faults:
        raise Invalid(*faults)


def _faults(workload: Diffusion, pipeline: Pipeline) -> Iterator[Fault]:
    if pipeline.medium is Medium.IMAGE and (workload.frames or 1) > 1:
        yield Fault(code=FaultCode.FRAMES_OF_IMAGE_MODEL, pointer="/workload/frames", params={"maximum": 1})
    if not any(isinstance(named.component, UNet | Transformer) for named in pipeline.components):
        yield Fault(code=FaultCode.NO_DENOISER, pointer="/model")
    yield from _formats(workload, pipeline)
    if workload.task is Task.INFERENCE:
        yield from _inference(workload)
    else:
        yield from _training(workload)


def _formats(workload: Diffusion, pipeline: Pipeline) -> Iterator[Fault]:
    known = {named.name: named.component for named in pipeline.components}
    for name, each in workload.formats.items():
        pointer = f"/workload/formats/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in known:
            params: dict[str, str | list[str]] = {"value": name, "known": sorted(known)}
            yield Fault(code=FaultCode.WRONG_VALUE, pointer=pointer, params={**params})
        elif bits_of(each) is None:
            types = [f"gguf:{kind}" for kind in GGML_TYPES]
            yield Fault(code=FaultCode.WRONG_VALUE, pointer=pointer, params={"value": each, "known": types})
        elif isinstance(known[name], UNet | Transformer):
            if each == ABSENT:
                yield Fault(code=FaultCode.NO_DENOISER, pointer=pointer)
            elif workload.task is Task.FULL and each not in BYTES:
                yield Fault(
                    code=FaultCode.QUANTISED_DENOISER_NOT_TRAINABLE,
                    pointer=pointer,
                    params={"weights": each, "known": list(BYTES)},
                )


def _inference(workload: Diffusion) -> Iterator[Fault]:
    if workload.precision is not None and workload.precision.value not in BYTES:
        params = {"value": workload.precision.value, "known": list(BYTES)}
        yield Fault(code=FaultCode.WRONG_VALUE, pointer="/workload/precision", params={**params})
    for name in _TRAINING:
        if getattr(workload, name) is not None:
            yield _elsewhere(workload, name, [Task.LORA.value] if name == "lora_rank" else _TUNING)


def _training(workload: Diffusion) -> Iterator[Fault]:
    names = [name for name in _MAKING if getattr(workload, name)]
    if workload.offload is not ComponentOffload.NONE:
        names.append("offload")
    if workload.guidance is not None:
        names.append("guidance")
    if workload.task is Task.FULL and workload.lora_rank is not None:
        yield Fault(
            code=FaultCode.LORA_WITHOUT_LORA_METHOD,
            pointer="/workload/lora_rank",
            params={"method": workload.task.value},
        )
    for name in names:
        yield _elsewhere(workload, name, [Task.INFERENCE.value])


def _elsewhere(workload: Diffusion, name: str, tasks: list[str]) -> Fault:
    """The field *name* belongs to other *tasks* than the one of *workload*."""
    params: dict[str, str | list[str]] = {"task": workload.task.value, "tasks": tasks}
    return Fault(code=FaultCode.FIELD_OF_OTHER_TASK, pointer=f"/workload/{name}", params={**params})
