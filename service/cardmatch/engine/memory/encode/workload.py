"""The workload of an encoder, as the request states it; what it leaves out has documented defaults."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.training.workload import AttentionKernel
from cardmatch.engine.models.formats import WeightFormat
from cardmatch.engine.terms.units import Tokens


class EncodeTask(StrEnum):
    """What the encoder does: vectors of texts, scores of pairs, or text of speech."""

    EMBEDDING = "embedding"
    RERANK = "rerank"
    SPEECH = "speech"


class Encode(msgspec.Struct, tag="encode", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Encoding a batch: of texts, of pairs of query and document, or of pieces of audio.

    `sequence_tokens` is the longest text (or pair, both together). Speech takes `audio_seconds` instead, cut into the
    model's windows, of which `batch` are transcribed at once, each with `beams` hypotheses.
    """

    task: EncodeTask = EncodeTask.EMBEDDING
    batch: Annotated[int, Meta(ge=1, le=65_536, description="Texts, pairs or windows of audio at once.")] | None = None
    sequence_tokens: Tokens | None = None
    audio_seconds: Annotated[float, Meta(gt=0, le=10_000_000)] | None = None
    beams: Annotated[int, Meta(ge=1, le=128)] | None = None
    weights: WeightFormat = "as_published"
    attention: AttentionKernel | None = None
