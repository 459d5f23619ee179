"""Serving at a constant number of requests: each that ends is followed by the next, prefilled between decode steps.

Per output token a request waits for one step, and for the prefill of the others that start meanwhile: at concurrency
C, C prefills fall into the life of a request, so TPOT = T_step(C) + C T_prefill / output. Pipeline stages work on
different requests at the same time, so each sees the batch divided by their number.
"""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.pace import Pace
from cardmatch.engine.speed.shape import Shape
from cardmatch.engine.speed.step import Work, decode_work, prefill_work, timed


class Load(NamedTuple):
    """What one copy of the model does at a constant number of requests, whatever its pace."""

    batch: float
    stages: int
    output_tokens: float
    decode: Work
    prefill: Work


class Steady(NamedTuple):
    """One copy of the model under a constant load."""

    batch: float
    step_seconds: float
    prefill_seconds: float
    tpot_seconds: float
    requests_per_second: float


def constant_load(shape: Shape, layout: Layout, batch: float, prompt_tokens: float, output_tokens: float) -> Load:
    """*batch* requests at once in one copy, *prompt_tokens* read and *output_tokens* written by each."""
    context = prompt_tokens + output_tokens / 2
    return Load(
        batch=batch,
        stages=layout.pipeline,
        output_tokens=max(output_tokens, 1.0),
        decode=decode_work(shape, layout, max(1.0, batch / layout.pipeline), context),
        prefill=prefill_work(shape, layout, prompt_tokens),
    )


def steady(load: Load, pace: Pace) -> Steady:
    """How fast *load* goes at *pace*."""
    step, prefill = timed(load.decode, pace).seconds, timed(load.prefill, pace).seconds
    return settled(load.batch, load.stages, load.output_tokens, step, prefill)


def settled(batch: float, stages: int, output_tokens: float, step: float, prefill: float) -> Steady:
    """How fast *batch* requests go whose steps and prefills take so many seconds."""
    tpot = step + batch * prefill / (stages * output_tokens)
    life = output_tokens * tpot + prefill + step
    return Steady(batch, step, prefill, tpot, batch / life)
