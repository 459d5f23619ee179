"""The time of one forward pass: a decode step of a batch, or the prefill of a prompt.

A decode step reads the weights once and every request's cache; it multiplies `batch` tokens; tensor ranks then add up
two partial sums a layer over their link (a ring: 2 (t - 1) / t of the data, in as many steps as there are neighbours to
pass it on to and back). Bandwidth, unpacking and arithmetic overlap, so their times meet in smooth maxima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.pace import SWITCHED_LINK, Pace
from cardmatch.engine.speed.shape import Attended, ExpertWeights, Shape

SHARPNESS = 4
"""Exponent of the smooth maximum: at a tie the pass takes 1.19 times the longer of the two."""

SIXTEEN_BITS = 2

ROUTING_SKEW = 2.0
"""Shape of the gamma distribution that experts' popularity follows: trained routers are far from drawing evenly."""


class Work(NamedTuple):
    """What one GPU does in one pass, whatever its pace: bytes read and sent, operations, kernel launches, requests.

    An exchange takes one hop where a switch adds up, and the `ring_hops` of all where each rank passes on to the next.
    Of several pipeline stages, it is what the GPUs at one place of each stage do one after the other.
    """

    weights_bytes: float
    cache_bytes: float
    flops: float
    sent_bytes: float
    exchanges: float
    ring_hops: float
    launches: int
    requests: float


class Step(NamedTuple):
    """The seconds that each part of a pass takes."""

    compute_seconds: float
    memory_seconds: float
    cache_seconds: float
    link_seconds: float
    fixed_seconds: float
    seconds: float


def _always_read(shape: Shape, layout: Layout) -> float:
    """Bytes of weights that one GPU reads in every step, routed experts apart."""
    share, tensor = shape.weights, layout.tensor
    heads = sum(size * max(1, number // tensor) / number for number, size in share.by_heads)
    return share.sharded / tensor + share.replicated + heads


def _experts_read(shape: Shape, layout: Layout, batch: float) -> float:
    """Bytes of routed experts that one GPU reads in a step of *batch* tokens, all pipeline stages together."""
    ranks, tokens = layout.tensor, batch
    if layout.expert > layout.tensor:
        ranks, tokens = layout.expert, batch * layout.data
    return sum(each.bytes * covered(each, tokens) for each in shape.experts) / ranks


def covered(each: ExpertWeights, tokens: float) -> float:
    """The share of the experts that *tokens* use, where some experts are drawn more often than others.

    An expert that is drawn g times as often as the mean is missed by n tokens with exp(-n g k / E); over a gamma
    distribution of g with shape a and mean 1 that is (1 + n k / (a E))^-a.
    """
    drawn = each.per_token / each.experts
    missed: float = (1.0 + (max(tokens, 1.0) - 1.0) * drawn / ROUTING_SKEW) ** -ROUTING_SKEW
    return 1.0 - (1.0 - drawn) * missed


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


class Exchanged(NamedTuple):
    """Bytes that one GPU sends, in how many exchanges, and in how many hops if they go round a ring."""

    bytes: float
    exchanges: float
    ring_hops: float


_NOTHING = Exchanged(0.0, 0.0, 0.0)


def exchanged(shape: Shape, layout: Layout, tokens: float) -> Exchanged:
    """What one GPU sends for *tokens*: tensor ranks' sums, experts, stages."""
    one = tokens * shape.hidden * SIXTEEN_BITS
    sent = exchanges = ring = 0.0
    if layout.tensor > 1:
        exchanges = 2.0 * shape.layers
        ring = exchanges * 2 * (layout.tensor - 1)
        sent = ring / layout.tensor * one
    if layout.expert > layout.tensor:
        for each in shape.experts:
            exchanges += 2.0 * each.layers
            ring += 2.0 * each.layers
            sent += 2.0 * each.layers * min(each.per_token, layout.expert - 1) * one / layout.tensor
    if layout.pipeline > 1:
        exchanges += layout.pipeline - 1
        ring += layout.pipeline - 1
        sent += (layout.pipeline - 1) * one
    return Exchanged(sent, exchanges, ring)


def decoding(shape: Shape, layout: Layout, context: float) -> Callable[[float], Work]:
    """Requests at once, with *context* tokens each, to the step in which each gets its next, through all stages.

    What is the same for any number of requests is reckoned once: searches ask for many numbers.
    """
    always, cache = _always_read(shape, layout), cache_read(shape, layout, context)
    multiplied, tensor, launches = 2.0 * shape.multiplied, layout.tensor, shape.launches
    apart, mixed = layout.gpus > 1, bool(shape.experts)

    def at(batch: float) -> Work:
        sent = exchanged(shape, layout, batch) if apart else _NOTHING
        read = always + _experts_read(shape, layout, batch) if mixed else always
        flops = multiplied * batch / tensor
        return Work(read, batch * cache, flops, sent.bytes, sent.exchanges, sent.ring_hops, launches, batch)

    return at


def decode_work(shape: Shape, layout: Layout, batch: float, context: float) -> Work:
    """A step in which *batch* requests with *context* tokens each get their next token, through all stages."""
    return decoding(shape, layout, context)(batch)


def prefill_work(shape: Shape, layout: Layout, tokens: float) -> Work:
    """Reading a prompt of *tokens* within full batches, through all stages: a token sees half of it on average.

    What the batches read and launch is counted with the decode steps that share them.
    """
    sent = exchanged(shape, layout, tokens).bytes if layout.gpus > 1 else 0.0
    flops = (2.0 * shape.multiplied + attention_flops(shape, tokens / 2)) * tokens
    return Work(0.0, 0.0, flops / layout.tensor, sent, 0.0, 0.0, 0, 0.0)


def timed(work: Work, pace: Pace) -> Step:
    """The seconds of *work* at *pace*."""
    memory, compute = work.weights_bytes / pace.bytes_per_second, work.flops / pace.flops_per_second
    if pace.unpacked_bytes_per_second < math.inf:
        memory = math.hypot(memory, work.weights_bytes / pace.unpacked_bytes_per_second)
    reading = work.cache_bytes / pace.cache_bytes_per_second
    link = link_seconds(work, pace)
    fixed = work.launches * pace.launch_seconds + work.requests * pace.request_seconds
    if work.launches:
        fixed += pace.step_seconds
    overlapped: float = (memory**SHARPNESS + compute**SHARPNESS) ** (1 / SHARPNESS)
    return Step(compute, memory, reading, link, fixed, overlapped + reading + link + fixed)


def link_seconds(work: Work, pace: Pace) -> float:
    """The seconds that the exchanges of *work* take: each hop's latency, and the bytes."""
    hops = work.exchanges if pace.link == SWITCHED_LINK else work.ring_hops
    return hops * pace.hop_seconds + work.sent_bytes / pace.hop_bytes
