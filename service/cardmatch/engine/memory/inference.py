"""The workload of serving a language model, as the request states it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.speculation import Adapters, Speculative
from cardmatch.engine.models.formats import WeightFormat
from cardmatch.engine.models.kv_formats import KvCache, KvFormat
from cardmatch.engine.terms.units import Tokens

Concurrency = Annotated[int, Meta(ge=1, le=1_000_000, description="Requests at the same time.")]

EngineLog = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1_000_000,
        description="Start-up log or error of the engine; what it says goes before the options. "
        "Of a long log the first 64,000 and the last 24,000 characters are read.",
    ),
]


DEFAULT_ENGINE = Vllm()
"""What is meant where no engine is named; that very object, so that the answer can say that it was assumed."""


class Resident(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another model that the same engine keeps on every GPU of a placement, beside the one that is asked about."""

    model: Annotated[str, Meta(min_length=1, max_length=200, examples=["Qwen/Qwen3-Embedding-0.6B"])]
    context_tokens: Tokens | None = None
    concurrency: Concurrency | None = None
    mean_tokens_per_request: Tokens | None = None
    weights: WeightFormat = "as_published"
    kv_cache: KvCache = KvFormat.AUTO


class Inference(
    msgspec.Struct, tag="inference", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Serving or running a language model.

    `context_tokens` is the longest single request, prompt and output together; `mean_tokens_per_request` is what a
    request holds on average and defaults to it.
    """

    engine: AnyEngine = DEFAULT_ENGINE
    context_tokens: Tokens | None = None
    concurrency: Concurrency | None = None
    mean_tokens_per_request: Tokens | None = None
    weights: WeightFormat = "as_published"
    kv_cache: KvCache = KvFormat.AUTO
    speculative: Speculative | None = None
    adapters: Adapters | None = None
    shared_prefix_tokens: Annotated[int, Meta(ge=0, le=10**9)] = 0
    also_resident: Annotated[tuple[Resident, ...], Meta(max_length=16)] = ()
    engine_log: EngineLog | None = None
