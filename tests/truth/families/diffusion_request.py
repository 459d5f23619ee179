"""From a measured diffusion run to the request that describes it, and what was read off it."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.catalogue.pipelines import PipelineRow, named_pipeline
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.models.diffusion.component import Autoencoder, Named, Pipeline
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case, Skipped
from tests.truth.world import TruthWorld
from tools.calibrate.diffusion import Observation

FORMATS = {
    "int4_torchao": "int4",
    "int4_quanto": "int4",
    "w4a16": "int4",
    "int8_quanto": "int8",
    "fp8_torchao": "fp8",
    "fp8_quanto": "fp8",
}
TASKS = {"inference", "lora", "full", "vae_encode"}
_UNKNOWN = Device(card=None, physical_bytes=0, memory_bytes=0, memory_low_bytes=0, memory_high_bytes=0)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a job; `known_device` says that a verdict can be given."""

    case: Case
    job: DiffusionJob
    placement: Placement
    known_device: bool
    observations: tuple[Observation, ...]


def prepare(case: Case, world: TruthWorld) -> Prepared:
    """The row as a request. Raises Skipped."""
    setup = case.setup
    if setup["task"] not in TASKS:
        raise Skipped(f"task {setup['task']}")
    pipeline = _pipeline(case, world)
    try:
        job = settle(msgspec.convert(_workload(case, pipeline), Diffusion), pipeline).job
    except (Invalid, msgspec.ValidationError) as wrong:
        raise Skipped(f"request refused: {wrong}") from None
    device = world.device(setup["card"], None)
    peak = case.measured["peak_gib"]
    observation = Observation(
        case=case.id,
        source=case.origin,
        kind=_kind(case),
        measured_bytes=(peak or 0) * GIB,
        job=job,
        encoding=setup["task"] == "vae_encode",
    )
    return Prepared(
        case=case,
        job=job,
        placement=Placement(device=device or _UNKNOWN),
        known_device=device is not None,
        observations=() if peak is None else (observation,),
    )


def _pipeline(case: Case, world: TruthWorld) -> Pipeline:
    """The catalogue's pipeline that a row speaks of, with the numbers of parameters that the row states."""
    row = _row(case, world)
    stated = ((case.model.config or {}).get("components")) or {}
    components = []
    for named in row.pipeline.components:
        own = stated.get(named.name) or {}
        if not isinstance(own, dict) or not own.get("parameters"):
            components.append(named)
            continue
        component = msgspec.structs.replace(named.component, parameters=int(own["parameters"]))
        components.append(msgspec.structs.replace(named, component=component))
    kept = tuple(named for named in components if not stated or named.name in stated or named.name == "vae")
    return msgspec.structs.replace(row.pipeline, components=kept)


def _row(case: Case, world: TruthWorld) -> PipelineRow:
    name = case.model.ref.partition("__")[0] if case.model.ref else (case.model.note or "").partition(";")[0]
    found = named_pipeline(world.catalogue.pipelines, name.replace("-", " ") if not case.model.ref else name)
    if found is None:
        raise Skipped("pipeline not in the catalogue")
    return found


def _workload(case: Case, pipeline: Pipeline) -> dict[str, Any]:
    setup = case.setup
    encoding = setup["task"] == "vae_encode"
    fields: dict[str, Any] = {
        "task": "inference" if encoding else setup["task"],
        "width_pixels": setup["width_pixels"],
        "height_pixels": setup["height_pixels"],
        "frames": setup["frames"],
        "batch": setup["batch"],
        "precision": setup["precision"],
        "attention": setup["attention"],
        "offload": setup["offload"] or "none",
        "vae_tiling": bool(setup["vae_tiling"]),
        "vae_slicing": bool(setup["vae_slicing"]),
        "formats": _formats(case, pipeline),
    }
    if fields["task"] != "inference":
        fields["gradient_checkpointing"] = setup["gradient_checkpointing"]
        fields["optimizer"] = {"paged_lion_8bit": "lion_8bit"}.get(setup["optimizer"], setup["optimizer"])
        fields["lora_rank"] = (setup["lora"] or {}).get("rank")
    return {name: value for name, value in fields.items() if value is not None}


def _formats(case: Case, pipeline: Pipeline) -> dict[str, str]:
    """What the row says of its components; an SDXL row's fp16 autoencoder is decoded in fp32 unless it has the fix."""
    stated = case.setup["component_formats"] or {}
    known: dict[str, Named] = {named.name: named for named in pipeline.components}
    found = {name: FORMATS.get(each, each) for name, each in stated.items() if name in known}
    for name in tuple(found):
        component = known[name].component
        fixed = "fp16 fix" in (case.note or "") or case.setup["task"] == "vae_encode"
        if isinstance(component, Autoencoder) and component.upcast and found[name] == "fp16" and not fixed:
            del found[name]
    return found


def _kind(case: Case) -> str:
    """Allocated, unless the row's note says that it is what the allocator reserved.

    Training of an unstated kind counts as reserved, as among training_memory's rows; figures of making images that
    state no kind agree with sources that print what was allocated.
    """
    note = case.note or ""
    if case.setup["task"] in {"lora", "full"}:
        return "allocated" if "allocated" in note else "reserved"
    return "reserved" if "reserved" in note and "allocated" not in note else "allocated"
