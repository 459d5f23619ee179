"""The time of one forward pass: a decode step of a batch, or the prefill of a prompt.

A decode step reads the weights once and every request's cache; it multiplies `batch` tokens; tensor ranks then add up
two partial sums a layer over their link (a ring: 2 (t - 1) / t of the data). Bandwidth and arithmetic overlap, so their
times meet in a smooth maximum.
"""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.pace import Pace
from cardmatch.engine.speed.shape import Attended, ExpertWeights, Shape

SHARPNESS = 4
"""Exponent of the smooth maximum: at a tie the pass takes 1.19 times the longer of the two."""

SIXTEEN_BITS = 2


class Work(NamedTuple):
    """What one GPU does in one pass, whatever its pace: bytes read and sent, operations, exchanges, layers, requests.

    Of several pipeline stages, it is what the GPUs at one place of each stage do one after the other.
    """

    weights_bytes: float
    cache_bytes: float
    flops: float
    sent_bytes: float
    exchanges: float
    layers: int
    requests: float


class Step(NamedTuple):
    """The seconds that each part of a pass takes."""

    compute_seconds: float
    memory_seconds: float
    cache_seconds: float
    link_seconds: float
    fixed_seconds: float
    seconds: float


def weights_read(shape: Shape, layout: Layout, batch: float) -> float:
    """Bytes of weights that one GPU reads in a step of *batch* tokens, all pipeline stages together."""
    share, tensor = shape.weights, layout.tensor
    heads = sum(size * max(1, number // tensor) / number for number, size in share.by_heads)
    read = share.sharded / tensor + share.replicated + heads
    if not shape.experts:
        return read
    ranks, tokens = layout.tensor, batch
    if layout.expert > layout.tensor:
        ranks, tokens = layout.expert, batch * layout.data
    return read + sum(each.bytes * covered(each, tokens) for each in shape.experts) / ranks


def covered(each: ExpertWeights, tokens: float) -> float:
    """The share of the experts that *tokens* use, each drawing its own at random."""
    missed: float = (1.0 - each.per_token / each.experts) ** max(tokens, 1.0)
    return 1.0 - missed


def cache_read(shape: Shape, layout: Layout, context: float) -> float:
    """Bytes of cache and state that one GPU reads for one request of *context* tokens, all stages together."""
    tensor, total = layout.tensor, shape.state_bytes / layout.tensor
    for kept in shape.kept:
        tokens = context if kept.window_tokens is None else min(context, kept.window_tokens)
        total += kept.bytes_per_token * tokens / min(tensor, kept.heads)
    return total / layout.decode_context


def attention_flops(shape: Shape, context: float) -> float:
    """Operations of attention for one token that sees *context* earlier ones."""
    return seen_flops(shape.attended, context)


def seen_flops(attended: tuple[Attended, ...], context: float) -> float:
    """The same for layers that are *attended*."""
    total = 0.0
    for each in attended:
        total += each.flops_per_token * (context if each.window_tokens is None else min(context, each.window_tokens))
    return total


def exchanged(shape: Shape, layout: Layout, tokens: float) -> tuple[float, float]:
    """Bytes that one GPU sends for *tokens*, and in how many exchanges: tensor ranks' sums, experts, stages."""
    one = tokens * shape.hidden * SIXTEEN_BITS
    sent = exchanges = 0.0
    if layout.tensor > 1:
        exchanges = 2.0 * shape.layers
        sent = exchanges * 2 * (layout.tensor - 1) / layout.tensor * one
    if layout.expert > layout.tensor:
        for each in shape.experts:
            exchanges += 2.0 * each.layers
            sent += 2.0 * each.layers * min(each.per_token, layout.expert - 1) * one / layout.tensor
    if layout.pipeline > 1:
        exchanges += layout.pipeline - 1
        sent += (layout.pipeline - 1) * one
    return sent, exchanges


def decode_work(shape: Shape, layout: Layout, batch: float, context: float) -> Work:
    """A step in which *batch* requests with *context* tokens each get their next token, through all stages."""
    sent, exchanges = exchanged(shape, layout, batch) if layout.gpus > 1 else (0.0, 0.0)
    return Work(
        weights_bytes=weights_read(shape, layout, batch),
        cache_bytes=batch * cache_read(shape, layout, context),
        flops=2.0 * shape.multiplied * batch / layout.tensor,
        sent_bytes=sent,
        exchanges=exchanges,
        layers=shape.layers,
        requests=batch,
    )


def prefill_work(shape: Shape, layout: Layout, tokens: float) -> Work:
    """Reading a prompt of *tokens* within full batches, through all stages: a token sees half of it on average.

    What the batches read and launch is counted with the decode steps that share them.
    """
    sent = exchanged(shape, layout, tokens)[0] if layout.gpus > 1 else 0.0
    flops = (2.0 * shape.multiplied + attention_flops(shape, tokens / 2)) * tokens
    return Work(0.0, 0.0, flops / layout.tensor, sent, 0.0, 0, 0.0)


def timed(work: Work, pace: Pace) -> Step:
    """The seconds of *work* at *pace*."""
    memory, compute = work.weights_bytes / pace.bytes_per_second, work.flops / pace.flops_per_second
    reading = work.cache_bytes / pace.bytes_per_second
    link = work.exchanges * pace.hop_seconds + work.sent_bytes / pace.hop_bytes
    fixed = work.layers * pace.layer_seconds + work.requests * pace.request_seconds
    if work.layers:
        fixed += pace.step_seconds
    overlapped: float = (memory**SHARPNESS + compute**SHARPNESS) ** (1 / SHARPNESS)
    return Step(compute, memory, reading, link, fixed, overlapped + reading + link + fixed)
