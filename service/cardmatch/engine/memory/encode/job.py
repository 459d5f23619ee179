"""An encoding job with every default filled in, as bytes that do and do not grow with the batch."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.training.workload import AttentionKernel
from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CrossAttention,
    Dense,
    Experts,
    LayerGroup,
)
from cardmatch.engine.models.checkpoint import Checkpoint, requantised
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Scalar

DEFAULT_TOKENS, DEFAULT_BEAMS = 512, 1
WINDOW_SECONDS = 30.0
"""Whisper's window (arXiv 2212.04356 §2.2); shorter audio is padded to it."""
_BYTES = 2
_SCORES = 2


class EncodeJob(msgspec.Struct, frozen=True, kw_only=True):
    """What an encoder does. Bytes of a batch: batch × (cache + tokens × (linear + square × tokens))."""

    workload: Encode
    architecture: Architecture
    checkpoint: Checkpoint
    weights: int
    batch: int
    tokens: int
    limit: int | None
    cache: int
    linear: float
    square: float
    windows: int
    assumptions: tuple[Assumption, ...]

    def activations(self, batch: int, tokens: int) -> float:
        """Bytes of the widest layer's tensors, cache apart."""
        return batch * tokens * (self.linear + self.square * tokens)


def settle(workload: Encode, architecture: Architecture, checkpoint: Checkpoint) -> EncodeJob:
    """The job that *workload* means. Raises Invalid with pointers into the request."""
    _check(workload, architecture)
    try:
        checkpoint = requantised(architecture, checkpoint, workload.weights)
    except Invalid as wrong:
        raise wrong.under("/workload/weights") from None
    encoder, speech = architecture.encoder, workload.task is EncodeTask.SPEECH
    limit = encoder.source_tokens if speech and encoder else architecture.maximum_context_tokens
    tokens = limit if speech and limit else workload.sequence_tokens or min(DEFAULT_TOKENS, limit or DEFAULT_TOKENS)
    beams = workload.beams or DEFAULT_BEAMS
    windows = math.ceil((workload.audio_seconds or WINDOW_SECONDS) / WINDOW_SECONDS) if speech else 0
    batch = workload.batch or 1
    linear, square = _growth(architecture, eager=workload.attention is AttentionKernel.EAGER)
    return EncodeJob(
        workload=workload,
        architecture=architecture,
        checkpoint=checkpoint,
        weights=sum(part.bytes for part in parts(architecture, checkpoint)),
        batch=batch,
        tokens=tokens,
        limit=limit,
        cache=_cache(architecture, beams) if speech else 0,
        linear=linear,
        square=square,
        windows=windows,
        assumptions=_assumptions(workload, batch, tokens, beams),
    )


def _check(workload: Encode, architecture: Architecture) -> None:
    """Speech needs an encoder-decoder that hears, and seconds; texts need tokens."""
    speech, hears = workload.task is EncodeTask.SPEECH, "whisper" in architecture.family
    if speech != hears:
        params = {"model_kind": architecture.family, "task": workload.task.value}
        raise Invalid(Fault(code=FaultCode.TASK_OF_OTHER_MODEL, pointer="/workload/task", params={**params}))
    wrong = ("sequence_tokens",) if speech else ("audio_seconds", "beams")
    right = [each.value for each in EncodeTask if (each is EncodeTask.SPEECH) is not speech]
    faults = [
        Fault(
            code=FaultCode.FIELD_OF_OTHER_TASK,
            pointer=f"/workload/{name}",
            params={"task": workload.task.value, "tasks": right},
        )
        for name in wrong
        if getattr(workload, name) is not None
    ]
    if faults:
        raise Invalid(*faults)


def _growth(architecture: Architecture, *, eager: bool) -> tuple[float, float]:
    """Bytes of one token in the widest layer, and of one pair of tokens where scores lie in memory.

    In inference a layer's tensors live one after another: residual and norm, then queries, keys, values and output, or
    the feed-forward's one or two hidden states.
    """
    encoder = architecture.encoder
    groups = [(group, architecture.hidden_size) for group in architecture.layer_groups]
    if encoder is not None:
        groups = [(encoder.layer, encoder.hidden_size)]
    linear = max(_widest(group, hidden) for group, hidden in groups) * _BYTES
    heads = max((block.query_heads for group, _ in groups for block in group.blocks if isinstance(block, Attention)),
                default=0)  # fmt: skip
    return linear, _SCORES * _BYTES * heads if eager else 0.0


def _widest(group: LayerGroup, hidden: int) -> float:
    widest = 0.0
    for block in group.blocks:
        if isinstance(block, Attention | CrossAttention):
            widest = max(widest, 2 * block.head_size * (block.query_heads + block.kv_heads))
        elif isinstance(block, Dense):
            widest = max(widest, (3 if block.gated else 2) * block.width)
        elif isinstance(block, Experts):
            widest = max(widest, 3 * block.width * block.experts_per_token)
    return 2 * hidden + widest


def _cache(architecture: Architecture, beams: int) -> int:
    """Keys and values of one window's hypotheses: of the audio and of the text written so far, for each."""
    found = 0
    length = architecture.maximum_context_tokens or 448
    for index in architecture.layer_order:
        for block in architecture.layer_groups[index].blocks:
            if isinstance(block, CrossAttention):
                found += 2 * block.kv_heads * block.head_size * block.source_tokens
            elif isinstance(block, Attention):
                found += 2 * block.kv_heads * block.head_size * length
    return found * beams * _BYTES


def _assumptions(workload: Encode, batch: int, tokens: int, beams: int) -> tuple[Assumption, ...]:
    filled: dict[str, Scalar] = {"batch": batch}
    if workload.task is EncodeTask.SPEECH:
        filled |= {"beams": beams, "audio_seconds": WINDOW_SECONDS}
    else:
        filled["sequence_tokens"] = tokens
    filled["attention"] = AttentionKernel.SDPA.value
    return tuple(
        Assumption(pointer=f"/workload/{name}", value=value)
        for name, value in filled.items()
        if getattr(workload, name) is None
    )
