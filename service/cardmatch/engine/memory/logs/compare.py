"""Predicted beside logged: figure by figure, and what an error comes from and what would fix it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.logs.logged import LogError, Logged, Trouble
from cardmatch.engine.terms.notice import Notice, NoticeCode, Params, Severity

Figure = Annotated[float, Meta(ge=0, le=1e18)]
Percent = Annotated[float, Meta(ge=-100, le=1e12)]

_CAUSES = {
    Trouble.CACHE_BELOW_LENGTH: NoticeCode.LOG_CACHE_BELOW_LENGTH,
    Trouble.NO_ROOM_FOR_CACHE: NoticeCode.LOG_NO_ROOM_FOR_CACHE,
    Trouble.MEMORY_HELD_BY_OTHERS: NoticeCode.LOG_MEMORY_HELD_BY_OTHERS,
    Trouble.WEIGHTS_NOT_ALLOCATED: NoticeCode.LOG_WEIGHTS_NOT_ALLOCATED,
    Trouble.CACHE_NOT_ALLOCATED: NoticeCode.LOG_CACHE_NOT_ALLOCATED,
    Trouble.COMPUTE_NOT_ALLOCATED: NoticeCode.LOG_COMPUTE_NOT_ALLOCATED,
    Trouble.OUT_OF_MEMORY: NoticeCode.LOG_OUT_OF_MEMORY,
}


class ComparedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of the log and what was predicted for it; null where the estimate has none."""

    figure: Annotated[str, Meta(description="Path in engine_reserves, such as `kv_cache_tokens`.")]
    logged: Figure
    predicted: Figure | None
    difference_percent: Annotated[Percent | None, Meta(description="Predicted over logged, less 100 %.")]


class LogReading(msgspec.Struct, frozen=True, kw_only=True):
    """What the log says beside what was predicted for the first placement."""

    engine: str
    version: str | None
    model: str | None
    figures: tuple[ComparedFigure, ...]
    cause: Annotated[Notice | None, Meta(description="Why the engine did not start, where the log ends in an error.")]
    fixes: Annotated[tuple[WayToFit, ...], Meta(description="The smallest changes that would fix it.")] = ()


def compare(logged: Logged, placement: PlacementEstimate, own_fixes: tuple[WayToFit, ...]) -> LogReading:
    """*logged* beside what *placement* predicts. *own_fixes* are changes that the log itself shows to be enough."""
    figures = tuple(_compared(name, value, placement.engine_reserves) for name, value in sorted(logged.figures.items()))
    return LogReading(
        engine=logged.engine,
        version=logged.version,
        model=logged.model,
        figures=figures,
        cause=_cause(logged.error),
        fixes=own_fixes + placement.ways_to_fit if logged.error else (),
    )


def own_fixes(error: LogError | None, engine: Any) -> tuple[Change, ...]:
    """Single changes of *engine*'s options that the figures of an error show to be enough."""
    if error is None:
        return ()
    if error.trouble is Trouble.MEMORY_HELD_BY_OTHERS and error.available_bytes and error.total_bytes:
        share = int(100 * error.available_bytes / error.total_bytes) / 100
        return (Change(pointer="/workload/engine/gpu_memory_utilization", value=share),) if share > 0 else ()
    if error.fitting_tokens and hasattr(engine, "max_model_len"):
        return (Change(pointer="/workload/engine/max_model_len", value=error.fitting_tokens),)
    return ()


def _compared(name: str, value: float, reserves: Any) -> ComparedFigure:
    predicted = _at(reserves, name)
    difference = None if predicted is None or not value else round(100 * (predicted / value - 1), 2)
    return ComparedFigure(figure=name, logged=value, predicted=predicted, difference_percent=difference)


def _at(reserves: Any, path: str) -> float | None:
    """The figure of *reserves* at *path*, whose steps are fields and positions."""
    here = reserves
    for step in path.split("/"):
        here = dict(enumerate(here)).get(int(step)) if step.isdigit() else getattr(here, step, None)
        if here is None:
            return None
    return float(here)


def _cause(error: LogError | None) -> Notice | None:
    if error is None:
        return None
    params: Params = {
        name: value
        for name in ("needed_bytes", "available_bytes", "total_bytes", "fitting_tokens")
        if (value := getattr(error, name)) is not None
    }
    code = _CAUSES[error.trouble]
    if error.needed_bytes is None and code in {
        NoticeCode.LOG_CACHE_BELOW_LENGTH,
        NoticeCode.LOG_WEIGHTS_NOT_ALLOCATED,
        NoticeCode.LOG_CACHE_NOT_ALLOCATED,
        NoticeCode.LOG_COMPUTE_NOT_ALLOCATED,
        NoticeCode.LOG_MEMORY_HELD_BY_OTHERS,
    }:
        code = NoticeCode.LOG_OUT_OF_MEMORY
    return Notice(code=code, severity=Severity.WARNING, params=params)
