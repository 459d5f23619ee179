"""A row of llamacpp_memory as the command that its author could have run."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.llama_cpp.eras import FOUR_UNIFIED_SLOTS, MlaEra
from cardmatch.engine.memory.engines.llama_cpp.options import Draft, FlashAttention, LlamaCpp, Variant
from cardmatch.engine.memory.engines.registry import arranged
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.checkpoint import Checkpoint, Stored, bits_per_weight, requantised
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.model import Model
from cardmatch.engine.models.parts import Part, parts
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case, CaseModel, Skipped
from tests.truth.world import TruthWorld

_UNKNOWN_DEVICE = Device(
    card=None, physical_bytes=80 * GIB, memory_bytes=80 * GIB, memory_low_bytes=80 * GIB, memory_high_bytes=80 * GIB
)
_CURRENT, _SPRING_2025 = 11_501, 5_192
_OLLAMA_SERVES, _OLLAMA_BUILD = re.compile(r"(?:Ollama )?0\.(\d+)"), 10_488
# The builds of the months that rows give instead of a number, by the numbers that logs of those months print.
_MONTHS = {
    "2024": 3_600,
    "2024-02": 2_100,
    "2024-08": 3_600,
    "2024-10": 3_972,
    "2025": 5_622,
    "2025-04": 5_192,
    "2025-05": 5_300,
    "2025-06": 5_622,
    "2025-08": 6_200,
    "2025-11": 7_000,
    "2026": 9_600,
    "2026-01": 7_700,
    "2026-04": 8_800,
    "2026-05": 9_100,
    "2026-06": 9_525,
    "2026-07": 10_121,
    "2026-08": 10_300,
    "2026-09": 10_800,
    "2026-10": 11_400,
}
_KV = {None: KvFormat.FP16, "f16": KvFormat.FP16, "f32": KvFormat.FP32}
_BITS_MOST = 64.0


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a request, and what its figures may be compared with."""

    case: Case
    job: ServingJob
    options: LlamaCpp
    placement: Placement
    known_device: bool
    known_weights: bool
    known_context: bool
    known_compute: bool


def prepare(case: Case, world: TruthWorld) -> Prepared:
    """The request of *case*. Raises Skipped with the reason."""
    setup = case.setup
    if setup["mmproj"] and case.measured["kv_mib"] is None and case.measured["gpu_model_mib"] is None:
        raise Skipped("a projector alone, without the model that it serves")
    model = world.model(case.model)
    checkpoint = checkpoint_of(case.model, model)
    context, known = _context(setup)
    options = options_of(setup, context)
    workload = Inference(engine=options, context_tokens=context, kv_cache=_kv_cache(setup))
    try:
        job, _ = settle(workload, model.architecture, checkpoint or model.checkpoint, checked=False)
    except Invalid as invalid:
        raise Skipped(f"request refused: {invalid}") from None
    count = setup["count"] or 1
    device = world.device(setup["card"], None)
    place = Placement(device=device or _UNKNOWN_DEVICE, count=count, layout=Layout(tensor=count))
    return Prepared(
        case=case,
        job=job,
        options=options,
        placement=arranged(options, place),
        known_device=device is not None,
        known_weights=checkpoint is not None,
        known_context=known,
        known_compute=known and _known_era(setup) and (bool(setup["count"]) or _fits_one(job)),
    )


def options_of(setup: dict[str, Any], context: int) -> LlamaCpp:
    """The options that the row states; four slots without a word on their cache are the server's own choice."""
    build = build_of(setup)
    flash, drafts = setup["flash_attention"], setup["speculative"] or {}
    slots = setup["n_parallel"]
    if slots == 4 and setup["kv_unified"] is None and setup["engine"] == "llama_cpp" and build >= FOUR_UNIFIED_SLOTS:
        slots = None
    auto = FlashAttention.AUTO
    return LlamaCpp(
        version=f"b{build}",
        variant=Variant.IK if setup["engine"] == "ik_llama_cpp" else Variant.MAINLINE,
        n_ctx=context,
        n_batch=setup["n_batch"] or max(2048, setup["n_ubatch"] or 0),
        n_ubatch=setup["n_ubatch"] or 512,
        n_parallel=slots,
        kv_unified=setup["kv_unified"],
        swa_full=setup["swa_full"],
        flash_attention=auto if flash is None else FlashAttention.ON if flash else FlashAttention.OFF,
        n_gpu_layers=setup["n_gpu_layers"],
        experts_on_host=bool(setup["experts_on_host"]),
        mla=MlaEra(setup["mla_era"]) if setup["mla_era"] else None,
        limited_outputs=setup["limited_outputs"],
        draft=Draft.MTP if drafts.get("method") == "mtp" else None,
        draft_tokens=drafts.get("tokens") or 0,
        mmproj=bool(setup["mmproj"]),
    )


def build_of(setup: dict[str, Any]) -> int:
    """The build that the row names, by its number, month or Ollama version; else by whether it limits its outputs."""
    build = setup["build"] or ""
    if setup["engine"] == "llama_cpp" and (found := re.match(r"b(\d{3,6})\b", build)):
        return int(found[1])
    if setup["engine"] == "ollama" and (found := _OLLAMA_SERVES.match(build)) and int(found[1]) >= 30:
        return _OLLAMA_BUILD
    if setup["build_date"] in _MONTHS:
        return _MONTHS[setup["build_date"]]
    return _SPRING_2025 if setup["limited_outputs"] is False else _CURRENT


def _known_era(setup: dict[str, Any]) -> bool:
    """Whether the row says, by build, month or outputs, if logits of a whole micro-batch are reserved."""
    named = setup["build"] or setup["build_date"] or setup["limited_outputs"] is not None
    return bool(named) or setup["engine"] == "ik_llama_cpp"


def checkpoint_of(asked: CaseModel, model: Model) -> Checkpoint | None:
    """The weights of the row, spread by its format over the size of its file; None where neither is stated."""
    if asked.checkpoint in {None, "mixed"} and asked.file_gib is None:
        return None
    stored = model.checkpoint
    if asked.checkpoint not in {None, "mixed"}:
        try:
            stored = requantised(model.architecture, model.checkpoint, str(asked.checkpoint))
        except KeyError:
            raise Skipped("weight format not modelled") from None
    return stored if asked.file_gib is None else _scaled(stored, model, asked.file_gib, asked.parameters)


def _scaled(stored: Checkpoint, model: Model, file_gib: float, parameters: float | None) -> Checkpoint:
    """*stored* with every part's bits stretched so that all of them fill the file."""
    found = [part for part in parts(model.architecture, stored) if part.kind is not PartKind.TOWER]
    if not _counts_drafters(found, parameters):
        found = [part for part in found if part.kind is not PartKind.MTP]
    stretch = file_gib * GIB / sum(part.bytes for part in found)
    bits = {kind: min(_BITS_MOST, bits_per_weight(stored, kind) * stretch) for kind in PartKind}
    kept = tuple(Stored(part=kind, format=stored.format, bits=each) for kind, each in bits.items())
    return Checkpoint(format=stored.format, base=stored.base, stored=kept)


def _counts_drafters(found: list[Part], parameters: float | None) -> bool:
    """Whether the file holds multi-token-prediction layers, by the number of parameters that its header gives."""
    every = sum(part.elements for part in found)
    without = every - sum(part.elements for part in found if part.kind is PartKind.MTP)
    return parameters is not None and abs(parameters - every) < abs(parameters - without)


def _context(setup: dict[str, Any]) -> tuple[int, bool]:
    """Cells of the context, and whether the row states them or somebody worked them out from other figures."""
    if isinstance(setup["n_ctx"], int):
        return setup["n_ctx"], True
    inferred = setup["n_ctx_inferred"]
    if isinstance(inferred, int) and not isinstance(inferred, bool):
        return inferred, True
    return 4096, False


def _kv_cache(setup: dict[str, Any]) -> KvFormat | KvFormats:
    try:
        keys, values = (
            _KV[setup[side]] if setup[side] in _KV else KvFormat(setup[side])
            for side in ("cache_type_k", "cache_type_v")
        )
    except ValueError:
        raise Skipped("cache format not modelled") from None
    return keys if keys is values else KvFormats(k=keys, v=values)


def _fits_one(job: ServingJob) -> bool:
    """Whether the model could lie on one GPU at all, so that a row without a count speaks of one."""
    largest = 192 * GIB
    least_bits = 4
    return sum(part.elements for part in parts(job.architecture, job.checkpoint)) * least_bits // 8 < largest
