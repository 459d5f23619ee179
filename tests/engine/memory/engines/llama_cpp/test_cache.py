"""The cache of long contexts against a table of what llama.cpp allocates."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import DEEPSEEK_V3_2, QWEN_27B
from tests.engine.memory.engines.test_llama_cpp import dense, logged, placed


def deepseek_v3() -> Architecture:
    """DeepSeek-V3.1: V3.2 without its indexer."""
    (group,) = DEEPSEEK_V3_2.layer_groups
    latent, experts = group.blocks
    blocks = (msgspec.structs.replace(latent, indexer=None), experts)
    return msgspec.structs.replace(DEEPSEEK_V3_2, layer_groups=(msgspec.structs.replace(group, blocks=blocks),))


@pytest.mark.parametrize(
    ("model", "context", "expected"),
    [
        (QWEN_27B, 262_144, 16.00),
        (dense(28, 1024, (16, 8, 128), 3072, 151936), 40_960, 4.38),
        (deepseek_v3(), 163_840, 10.72),
    ],
)
def test_the_cache_of_a_whole_context_is_what_studios_table_gives(
    model: Architecture, context: int, expected: float
) -> None:
    """Qwen3.5-27B, Qwen3-0.6B and DeepSeek-V3.1 at f16 and their full context, GiB (unslothai/unsloth PR 4757)."""
    log = logged(placed(model, LlamaCpp(n_ctx=context, n_parallel=1), context=context, gib=1000))
    assert sum(device.kv_cache_bytes for device in log.devices) / GIB == pytest.approx(expected, abs=0.01)
