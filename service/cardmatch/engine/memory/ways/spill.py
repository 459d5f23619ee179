"""What llama.cpp and its kin can keep in RAM: experts, which few tokens read, before whole layers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import msgspec

from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.memory.ways.trial import Trial, Tried, excess_bytes
from cardmatch.engine.terms.notice import Scalar

_LAYERS_OPTION: dict[type, str] = {LlamaCpp: "n_gpu_layers", Ollama: "num_gpu", LmStudio: "gpu_layers"}
_EXPERTS_OPTION: dict[type, str] = {LlamaCpp: "experts_on_host", LmStudio: "experts_on_host"}
_WANTED = frozenset({Verdict.TIGHT, Verdict.FITS, Verdict.COMFORTABLE})


def experts_in_ram(base: Tried) -> Iterator[Trial]:
    """The experts of as few layers as must leave the GPU, then of all."""
    trial = base.trial
    engine = trial.engine
    option = _EXPERTS_OPTION.get(type(engine))
    sums = trial.job.sums
    if option is None or getattr(engine, option) or not any(share.experts for share in sums.groups):
        return
    if isinstance(engine, LlamaCpp) and not engine.n_cpu_moe and not engine.override_tensors and trial.where.count == 1:
        order = trial.job.architecture.layer_order
        held = accumulate(sums.groups[group].experts // sums.layers[group] for group in order)
        missing = excess_bytes(base)
        number = next((layer for layer, size in enumerate(held, 1) if size >= missing), len(order))
        # The experts that are left in RAM are fetched through the GPU, which takes room of its own.
        for more in (0, 1, 2, 4):
            if number + more < len(order):
                yield _with_option(trial, "n_cpu_moe", number + more)
    yield _with_option(trial, option, value=True)


def layers_in_ram(base: Tried) -> Iterator[Trial]:
    """As many layers on the GPU as fit, as these engines choose by themselves."""
    trial = base.trial
    option = _LAYERS_OPTION.get(type(trial.engine))
    if option is None or getattr(trial.engine, option) is not None:
        return
    layers = len(trial.job.architecture.layer_order)
    each = base.reservation.weights.expected_bytes / (layers + 1) or 1
    kept = int(layers - excess_bytes(base) / each)
    for number in sorted({kept, kept * 9 // 10, kept * 3 // 4, kept // 2, 0}, reverse=True):
        if 0 <= number < layers:
            yield _with_option(trial, option, number)


def _with_option(trial: Trial, option: str, value: Scalar) -> Trial:
    engine = msgspec.structs.replace(trial.engine, **{option: value})
    changed = trial.also(Change(pointer=f"/workload/engine/{option}", value=value))
    return msgspec.structs.replace(changed, engine=engine, wanted=_WANTED)
