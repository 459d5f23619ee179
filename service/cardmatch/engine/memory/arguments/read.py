"""A workload whose engine has a command line: its options, formats and layout read out of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.arguments import llama_cpp, lm_studio, ollama, sglang, tensorrt_llm, vllm
from cardmatch.engine.memory.arguments.command import command
from cardmatch.engine.memory.arguments.found import POINTER, Found, wrong_value
from cardmatch.engine.memory.arguments.table import MOST_RANKS, Table, read_words
from cardmatch.engine.memory.engines.llama_cpp.eras import FIT
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Params, Severity

_Finish = Callable[[Found, dict[str, str]], None]
_READERS: dict[type, tuple[Table, _Finish]] = {
    Vllm: (vllm.TABLE, vllm.finish),
    Sglang: (sglang.TABLE, sglang.finish),
    TensorrtLlm: (tensorrt_llm.TABLE, tensorrt_llm.finish),
    LlamaCpp: (llama_cpp.TABLE, llama_cpp.finish),
    Ollama: (ollama.TABLE, ollama.finish),
    LmStudio: (lm_studio.TABLE, lm_studio.finish),
}
# Without a length these reserve for the model's own limit.
_LENGTH: dict[type, str] = {Vllm: "max_model_len", Sglang: "context_length", TensorrtLlm: "max_seq_len"}
_LENGTH_BEFORE_FIT = 4096  # common/common.h since October 2024
_FIELD = re.compile(r"\$\.(\w+)")


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """The workload with what its command line says, and the layout that it asks for."""

    workload: Inference
    layout: Layout | None = None
    notices: tuple[Notice, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


def read_arguments(workload: Inference, architecture: Architecture, checkpoint: Checkpoint) -> Read:
    """*workload* with its engine's `args` read. Raises Invalid at /workload/engine/args."""
    engine = workload.engine
    written = getattr(engine, "args", None)
    if written is None:
        return Read(workload=workload)
    table, finish = _READERS[type(engine)]
    found = Found(len(architecture.layer_order))
    if isinstance(engine, Ollama):
        written = ollama.modelfile(found, written)
    told = command(written)
    kind = str(engine.__struct_config__.tag)
    if told.engine not in {None, kind}:
        params: Params = {"engine": kind, "value": written[:120]}
        other = (str(told.engine),)
        raise Invalid(Fault(code=FaultCode.NOT_WITH_ENGINE, pointer=POINTER, params=params, suggestions=other))
    read_words(told.words, table, found)
    _finished(finish, found, told.environment)
    found.options = {**own_length(engine, architecture), **found.options}
    changed: dict[str, Any] = {"engine": _with_options(engine, found)}
    if found.needs_checkpoint and workload.weights == "as_published" and checkpoint.format in DTYPE_BITS:
        raise wrong_value(*found.needs_checkpoint)
    plain = found.workload.pop("weights_if_plain", None)
    if plain and workload.weights == "as_published" and checkpoint.format in DTYPE_BITS:
        changed["weights"] = plain
    else:
        found.assumed.pop("weights", None)
    return Read(
        workload=msgspec.structs.replace(workload, **found.workload, **changed),
        layout=_layout(found),
        notices=_notices(found),
        assumptions=tuple(
            Assumption(pointer=f"/workload/{name}", value=value) for name, value in found.assumed.items()
        ),
    )


def _layout(found: Found) -> Layout | None:
    if not found.layout:
        return None
    layout = Layout(**found.layout)
    if layout.gpus > MOST_RANKS:
        raise wrong_value("args", f"{layout.gpus} GPUs")
    return layout


def laid_out(placement: Placement, layout: Layout | None, index: int) -> Placement:
    """*placement* with the layout of a command line; one card stands for as many as that takes.

    Raises Invalid where the request has another number of cards.
    """
    if layout is None:
        return placement
    if placement.count not in {1, layout.gpus}:
        raise Invalid(
            Fault(
                code=FaultCode.LAYOUT_NOT_COUNT,
                pointer=f"/cards/{index}/count",
                params={"gpus": layout.gpus, "count": placement.count},
            )
        )
    return msgspec.structs.replace(placement, layout=layout, count=layout.gpus)


def own_length(engine: Any, architecture: Architecture) -> dict[str, int]:
    """The options for the length, and the requests at once, that *engine* takes where nothing says them.

    llama.cpp's --fit shortens an unset context to what fits, so there the workload's own stands.
    """
    field = _LENGTH.get(type(engine))
    if field and architecture.maximum_context_tokens and getattr(engine, field) is None:
        return {field: architecture.maximum_context_tokens}
    if isinstance(engine, LlamaCpp) and engine.n_ctx is None and int(engine.version[1:]) < FIT:
        return {"n_ctx": _LENGTH_BEFORE_FIT}
    if isinstance(engine, Ollama):
        return {"num_ctx_by_memory": engine.num_ctx is None, "num_parallel": engine.num_parallel or 1}
    return {}


def _finished(finish: _Finish, found: Found, environment: dict[str, str]) -> None:
    try:
        finish(found, environment)
    except (ValueError, KeyError, TypeError, OverflowError, msgspec.ValidationError) as error:
        raise wrong_value("args", str(error)) from None


def _with_options(engine: Any, found: Found) -> Any:
    """The engine's options with those that were found, within the bounds of their fields."""
    given = {name: getattr(engine, name) for name in engine.__struct_fields__ if name != "args"}
    merged = msgspec.to_builtins({**given, **found.options})
    kind = engine.__struct_config__.tag
    try:
        return msgspec.convert({"kind": kind, **merged}, type(engine))
    except msgspec.ValidationError as error:
        place = _FIELD.search(str(error))
        argument, value = found.origin.get(place[1] if place else "", ("args", ""))
        raise wrong_value(argument, value) from None


def _notices(found: Found) -> tuple[Notice, ...]:
    said = (
        (NoticeCode.OPTIONS_WITHOUT_EFFECT, Severity.INFO, found.without_effect),
        (NoticeCode.OPTIONS_NOT_CONSIDERED, Severity.CAUTION, found.not_considered),
    )
    return tuple(
        Notice(code=code, severity=severity, params={"arguments": list(dict.fromkeys(arguments))[:40]})
        for code, severity, arguments in said
        if arguments
    )
