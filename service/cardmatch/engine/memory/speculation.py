"""Speculative decoding and LoRA adapters, as a request states them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Count


class SpeculativeMethod(StrEnum):
    """Who drafts: the model's own next-token layers, a one-layer head, another model, or the prompt itself."""

    MTP = "mtp"
    EAGLE = "eagle"
    EAGLE3 = "eagle3"
    DRAFT_MODEL = "draft_model"
    NGRAM = "ngram"


class Speculative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tokens are drafted. `model` names the drafter where it is a model of its own."""

    method: SpeculativeMethod
    tokens: Annotated[int, Meta(ge=1, le=64, description="Tokens drafted per step.")] = 1
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Adapters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """LoRA adapters that are on the GPU at the same time, on all linear layers, in 16 bits."""

    count: Count = 1
    rank: Annotated[int, Meta(ge=1, le=1024)] = 16
