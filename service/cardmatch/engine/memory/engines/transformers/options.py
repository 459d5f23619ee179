"""The options of Transformers that decide what it takes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.versions import Version

CURRENT_VERSION = "5.24.0"


class AttentionImplementation(StrEnum):
    """`attn_implementation`; `eager` writes out a score for each pair of tokens and head."""

    EAGER = "eager"
    SDPA = "sdpa"
    FLASH_ATTENTION_2 = "flash_attention_2"


class CacheImplementation(StrEnum):
    """`cache_implementation`: `static` allocates the longest request at once."""

    DYNAMIC = "dynamic"
    STATIC = "static"


class Transformers(
    msgspec.Struct, tag="transformers", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`model.generate` of one batch. `prompt_tokens` are prefilled at once; without it half of the context are."""

    version: Version = CURRENT_VERSION
    attn_implementation: AttentionImplementation = AttentionImplementation.SDPA
    cache_implementation: CacheImplementation = CacheImplementation.DYNAMIC
    prompt_tokens: Annotated[int, Meta(ge=1, le=10**9)] | None = None
