"""A workload as the engine's log says that it was started."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.arguments.read import own_length
from cardmatch.engine.memory.arguments.sglang import KV_FORMATS as SGLANG_FORMATS
from cardmatch.engine.memory.arguments.vllm import KV_FORMATS as VLLM_FORMATS
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN, AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.logs.logged import Logged, Trouble
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

POINTER = "/workload/engine_log"
_ENGINES: dict[str, type[Any]] = {"vllm": Vllm, "sglang": Sglang, "tensorrt_llm": TensorrtLlm, "llama_cpp": LlamaCpp}
_FORMATS = {"vllm": VLLM_FORMATS, "sglang": SGLANG_FORMATS}


def as_logged(workload: Inference, logged: Logged, architecture: Architecture, checkpoint: Checkpoint) -> Inference:
    """*workload* with the options and formats of the log. Raises Invalid where it asks about another engine."""
    engine = _engine(workload, logged)
    settings = {**own_length(engine, architecture), **logged.options}
    if logged.version:
        settings["version"] = logged.version
    if "n_gpu_layers" in settings:
        settings["n_gpu_layers"] = min(settings["n_gpu_layers"], len(architecture.layer_order) + 1)
    if "n_ctx" in settings:
        settings.update(_batches(settings))
    known = {name: value for name, value in settings.items() if name in engine.__struct_fields__}
    try:
        given = {name: getattr(engine, name) for name in engine.__struct_fields__}
        kind = engine.__struct_config__.tag
        engine = msgspec.convert({"kind": kind, **msgspec.to_builtins(given), **known}, type(engine))
    except msgspec.ValidationError:
        raise Invalid(Fault(code=FaultCode.LOG_NOT_READ, pointer=POINTER)) from None
    cache = _cache(logged)
    weights = workload.weights
    if logged.weights and weights == "as_published" and checkpoint.format in DTYPE_BITS:
        weights = logged.weights
    return msgspec.structs.replace(
        workload, engine=engine, weights=weights, kv_cache=workload.kv_cache if cache is None else cache
    )


def placed_as_logged(placement: Placement, logged: Logged, index: int) -> Placement:
    """*placement* with the layout and the memory held by others of the log. Raises Invalid for another card count."""
    changed: dict[str, Any] = {}
    if logged.layout:
        layout = Layout(**logged.layout)
        if placement.count not in {1, layout.gpus}:
            params: Params = {"gpus": layout.gpus, "count": placement.count}
            raise Invalid(Fault(code=FaultCode.LAYOUT_NOT_COUNT, pointer=f"/cards/{index}/count", params=params))
        changed |= {"layout": layout, "count": layout.gpus}
    gpus = len({name.split("/")[1] for name in logged.figures if name.startswith("devices/")})
    if gpus > 1 and placement.count == 1:
        changed |= {"layout": Layout(tensor=gpus), "count": gpus}
    error = logged.error
    others = error is not None and error.trouble is Trouble.MEMORY_HELD_BY_OTHERS
    if error and others and error.total_bytes and error.available_bytes is not None and not placement.occupied_bytes:
        held = error.total_bytes - error.available_bytes
        if logged.figures == {} and 0 < held < placement.device.memory_bytes:
            changed["occupied_bytes"] = held
    return msgspec.structs.replace(placement, **changed) if changed else placement


def _engine(workload: Inference, logged: Logged) -> Any:
    """The engine to ask about: the log's own where the request names none or one of its kin."""
    asked: AnyEngine = workload.engine
    kind = _ENGINES["llama_cpp" if logged.engine == "ollama" else logged.engine]
    if isinstance(asked, kind):
        return asked
    if asked == Vllm() or (kind is LlamaCpp and isinstance(asked, LLAMA_CPP_KIN)):
        return kind()
    raise Invalid(
        Fault(
            code=FaultCode.LOG_OF_OTHER_ENGINE,
            pointer=POINTER,
            params={"engine": str(type(asked).__struct_config__.tag)},
            suggestions=(logged.engine,),
        )
    )


def _batches(settings: dict[str, Any]) -> dict[str, Any]:
    """A micro-batch is never printed larger than it is, so a batch that is not printed is at least as large."""
    micro = settings.get("n_ubatch")
    return {"n_batch": max(settings.get("n_batch", 2048), micro)} if micro else {}


def _cache(logged: Logged) -> KvFormat | KvFormats | None:
    if isinstance(logged.kv_cache, KvFormat | KvFormats):
        return logged.kv_cache
    return _FORMATS.get(logged.engine, {}).get(str(logged.kv_cache))
