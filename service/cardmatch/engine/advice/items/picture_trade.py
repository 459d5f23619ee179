"""What is particular to pictures: the memory of a pipeline, the workload to post, and the lines that start it."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.advice.answer import Step
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.items.bench import Held, Trade
from cardmatch.engine.advice.items.picture_trials import Painting
from cardmatch.engine.advice.items.plan import SEND, WATCH
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.memory.diffusion.formats import BYTES
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.placed import attempt, placed
from cardmatch.engine.memory.diffusion.workload import ComponentOffload, Task
from cardmatch.engine.models.diffusion.component import Medium, Transformer, UNet
from cardmatch.engine.speed.pictures import steps_of
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_TORCH = {"bf16": "torch.bfloat16", "fp16": "torch.float16", "fp32": "torch.float32"}
_QUANTO = {"fp8": "float8", "int8": "int8", "int4": "int4"}
_NF4 = "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype={dtype})"
_OFFLOAD = {
    ComponentOffload.NONE: "p.to('cuda')",
    ComponentOffload.MODEL: "p.enable_model_cpu_offload()",
    ComponentOffload.SEQUENTIAL: "p.enable_sequential_cpu_offload()",
    ComponentOffload.GROUP: "p.enable_group_offload(onload_device=torch.device('cuda'), offload_type='leaf_level')",
}
_FRAMES_A_SECOND = 16


class Pictures(NamedTuple):
    """The job of a request and how its model is named."""

    painting: Painting
    named: Named


def picture_trade(asked: Pictures) -> Trade:
    """The trade of *asked*."""

    def job_of(found: Tried) -> DiffusionJob:
        job = found.variant.job if found.variant else None
        return job if isinstance(job, DiffusionJob) else asked.painting.shared.job

    return Trade(
        held=lambda found: _held(asked.painting, job_of(found), found),
        workload=lambda found: _workload(job_of(found)),
        command=lambda found: _command(asked.named.command_name, job_of(found)),
        steps=lambda found, _: _steps(asked.named.command_name, job_of(found)),
    )


def denoiser_format(job: DiffusionJob) -> str:
    """The format of the network that takes the steps: where only other components are changed, theirs goes unsaid."""
    return next(part.format for part in job.parts if isinstance(part.component, UNet | Transformer))


def _held(painting: Painting, job: DiffusionJob, found: Tried) -> Held:
    shared = painting.shared
    memory = placed(attempt(job, shared.known, shared.calibration), found.placement)
    return Held(
        verdict=memory.verdict,
        bound_by=memory.bound_by.value,
        diffusion=memory.per_gpu,
        encoding=None,
        budget_bytes=memory.budget_bytes,
        headroom_bytes=memory.headroom_bytes,
        host_bytes=memory.host.ram_bytes,
        weights_bytes=sum(part.bytes for part in job.parts),
        format=denoiser_format(job),
        at_once=job.size.batch,
        notices=(*memory.notices, *_quantised(found)),
    )


def _quantised(found: Tried) -> tuple[Notice, ...]:
    """What tiles cost; formats are spoken of with every option's."""
    tiled = found.variant is not None and any(each.pointer == "/workload/vae_tiling" for each in found.variant.changes)
    return (notice(NoticeCode.DECODED_IN_TILES, Severity.INFO, card=found.form.card.id),) if tiled else ()


def _workload(job: DiffusionJob) -> dict[str, Any]:
    """The workload as it was reckoned, to be posted to /cost."""
    stated = msgspec.to_builtins(job.workload)
    plain = msgspec.to_builtins(type(job.workload)())
    found = {name: value for name, value in stated.items() if name == "kind" or value != plain[name]}
    if job.inference:
        found["denoise_steps"] = steps_of(job)
    return found


def _command(model: str, job: DiffusionJob) -> str:
    """One batch with diffusers, from a shell; training by the script of diffusers' examples."""
    if job.workload.task is not Task.INFERENCE:
        return _training(model, job)
    return f'python -c "{_loaded(model, job)}; {_call(job)}{_saved(job)}"'


def _loaded(model: str, job: DiffusionJob) -> str:
    """The pipeline in its formats, where it lies, and how it decodes."""
    dtype = _TORCH.get(job.workload.precision or job.pipeline.precision, "torch.bfloat16")
    quantised = _mapping(job, dtype)
    parts = ["import torch, diffusers, transformers"] if quantised else ["import torch, diffusers"]
    config = f", quantization_config=diffusers.PipelineQuantizationConfig(quant_mapping={quantised})"
    more = config if quantised else ""
    parts.append(f"p = diffusers.DiffusionPipeline.from_pretrained('{model}', torch_dtype={dtype}{more})")
    parts.append(_OFFLOAD[job.offload])
    parts += ["p.vae.enable_tiling()"] if job.workload.vae_tiling else []
    parts += ["p.vae.enable_slicing()"] if job.workload.vae_slicing else []
    return "; ".join(parts)


def _mapping(job: DiffusionJob, dtype: str) -> str:
    """Components and what each is put into, as diffusers' table in Python; empty where all are plain."""
    found = []
    for part in job.parts:
        library = "diffusers" if isinstance(part.component, UNet | Transformer) else "transformers"
        if part.format.startswith("nf4"):
            found.append(f"'{part.name}': {library}.{_NF4.format(dtype=dtype)}")
        elif part.format in _QUANTO:
            field = "weights_dtype" if library == "diffusers" else "weights"
            found.append(f"'{part.name}': {library}.QuantoConfig({field}='{_QUANTO[part.format]}')")
        elif part.format not in BYTES and part.format != "absent":
            return ""  # a file of somebody's own, which the request names better than a command could
    return "{" + ", ".join(found) + "}" if found else ""


def _call(job: DiffusionJob) -> str:
    size = job.size
    video = job.pipeline.medium is Medium.VIDEO
    count = f", num_frames={size.frames}" if video else f", num_images_per_prompt={size.batch}"
    guidance = ", guidance_scale=1.0" if job.workload.guidance is False else ""
    return (
        f"r = p('a red fox in the snow', width={size.width}, height={size.height}, "
        f"num_inference_steps={steps_of(job)}{count}{guidance})"
    )


def _saved(job: DiffusionJob) -> str:
    if job.pipeline.medium is Medium.VIDEO:
        return f"; diffusers.utils.export_to_video(r.frames[0], 'video.mp4', fps={_FRAMES_A_SECOND})"
    return "; r.images[0].save('picture.png')"


def _training(model: str, job: DiffusionJob) -> str:
    how = "text_to_image_lora" if job.workload.task is Task.LORA else "text_to_image"
    rank = f" --rank {job.trained.rank}" if job.trained and job.trained.rank else ""
    checkpointing = " --gradient_checkpointing" if job.trained and job.trained.checkpointing else ""
    return (
        f"accelerate launch train_{how}.py --pretrained_model_name_or_path {model} --resolution {job.size.width} "
        f"--train_batch_size {job.size.batch}{rank}{checkpointing} --mixed_precision bf16"
    )


def _steps(model: str, job: DiffusionJob) -> tuple[Step, ...]:
    """Install, one batch, the memory meanwhile, a few batches by the clock, and the rate sent back."""
    quantised = " optimum-quanto bitsandbytes" if denoiser_format(job) not in BYTES else ""
    steps = [
        Step(minutes=8, command=f"pip install torch diffusers transformers accelerate sentencepiece{quantised}"),
        Step(minutes=6, command=_command(model, job)),
        Step(minutes=1, command=WATCH),
    ]
    if job.workload.task is Task.INFERENCE:
        timed = (
            f'python -c "import time; {_loaded(model, job)}; {_call(job)}; t = time.time(); '
            f"n = sum(bool({_call(job).removeprefix('r = ')}) for _ in range(4)); "
            f"print(n * {job.size.batch} / (time.time() - t), 'per second')\""
        )
        steps.append(Step(minutes=11, command=timed))
    return (*steps, Step(minutes=4, command=SEND))
