"""Mutated GGUF metadata and tensor tables are refused with a pointer, or read to a bounded size."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.gguf.read import read_gguf
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts
from tests.engine.models.gguf.test_read import (
    DEEPSEEK_V3,
    LLAMA_8B,
    QWEN3_30B,
    QWEN35_27B,
    llama_tensors,
    metadata,
)
from tests.engine.models.mutations import mutated, read_or_refused

_FILE_BYTES = 1 << 21
SMALL = metadata(
    "llama",
    block_count=2,
    embedding_length=512,
    feed_forward_length=1024,
    attention__head_count=8,
    attention__head_count_kv=4,
    vocab_size=1000,
)
SAMPLES: list[dict[str, Any]] = [
    {"metadata": LLAMA_8B},
    {"metadata": QWEN3_30B},
    {"metadata": QWEN35_27B},
    {"metadata": DEEPSEEK_V3},
    {"metadata": SMALL, "tensors": llama_tensors()},
    {"metadata": SMALL, "tensors": llama_tensors(), "file_bytes": _FILE_BYTES},
]


@given(file=mutated(SAMPLES))
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_mutated_file_is_refused_or_bounded(file: dict[str, Any], dialects: Dialects) -> None:
    """Whatever is changed, the reader answers soon and with a fault or finite figures.

    That tensors are a list and a size is a number is settled before the reader is called.
    """
    tensors, size = file.get("tensors"), file.get("file_bytes")
    model = read_or_refused(
        lambda: read_gguf(
            file.get("metadata", {}),
            dialects,
            tensors=tensors if isinstance(tensors, list) else None,
            file_bytes=size if size == _FILE_BYTES else None,
        )
    )
    if model is None:
        return
    counts = parameters(model.architecture)
    assert 0 < counts.active <= counts.total <= 10**14
    assert all(row.layers > 0 and row.elements >= 0 for row in by_layer(model.architecture))
    assert all(part.bytes >= 0 for part in parts(model.architecture, model.checkpoint))
