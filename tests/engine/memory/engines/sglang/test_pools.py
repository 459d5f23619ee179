"""SGLang's pools against what its logs print."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.sglang.pools import Pools, pools
from cardmatch.engine.memory.engines.sglang.reserve import reserve
from cardmatch.engine.memory.engines.sglang.reserves import SglangReserves
from cardmatch.engine.memory.engines.sglang.settle import settle as settle_engine
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import (
    DEEPSEEK_V3_2,
    GEMMA_4_31B,
    GLM_5,
    QWEN2_5_1_5B,
    QWEN_27B,
    device,
    placement,
)


def job_of(model: Architecture, kv_cache: KvFormat = KvFormat.AUTO, dtype: Dtype = Dtype.BF16) -> ServingJob:
    """A request of the default length."""
    return settle(Inference(engine=Sglang(), kv_cache=kv_cache), model, plain(dtype))[0]


def pools_of(model: Architecture, gib: float, options: Sglang, layout: Layout, kv_cache: KvFormat) -> Pools:
    """The pools that *gib* GiB are divided into."""
    job = job_of(model, kv_cache)
    settled = settle_engine(options, job, device(94.97), layout)
    return pools(job.cache_rows, (), job, options, settled, int(gib * GIB))


def test_the_static_share_holds_weights_and_cache() -> None:
    """Qwen2.5-1.5B on an L40S at 0.85: 3.03 GiB of weights, 34.38 of cache, 1,287,482 tokens (public log)."""
    job = job_of(QWEN2_5_1_5B, dtype=Dtype.FP16)
    reserved = reserve(job, Sglang(mem_fraction_static=0.85), placement(44.4), calibration().serving).reserves
    assert isinstance(reserved, SglangReserves)
    assert reserved.kv_cache_bytes / GIB == pytest.approx(34.38, abs=0.4)
    assert reserved.kv_cache_tokens == pytest.approx(reserved.kv_cache_bytes / 28_672, abs=1)
    assert pytest.approx(1_287_482, rel=1e-3) == 34.38 * GIB / 28_672


def test_latents_and_indexer_share_a_pool() -> None:
    """DeepSeek-V3.2 with attention data-parallel over eight B200s: 43.67 GiB hold 975,424 tokens (sglang#11309)."""
    options = Sglang(enable_dp_attention=True, dp_size=8)
    found = pools_of(DEEPSEEK_V3_2, 43.67, options, Layout(tensor=8), KvFormat.FP8_E4M3)
    assert found.tokens == pytest.approx(975_424, rel=1e-3)


def test_the_indexer_is_in_8_bits_whatever_the_cache() -> None:
    """GLM-5 with a 16-bit cache on eight cards: 29.32 GiB hold 314,304 tokens (rtx6kpro)."""
    found = pools_of(GLM_5, 29.32, Sglang(), Layout(tensor=8), KvFormat.BF16)
    assert found.tokens == pytest.approx(314_304, rel=1e-3)


def test_states_have_a_pool_of_their_own() -> None:
    """Of what is left, 0.9 / 1.9 goes to states, and three slots are kept for each running request."""
    found = pools_of(QWEN_27B, 10, Sglang(), Layout(tensor=2), KvFormat.FP8_E4M3)
    slot = 48 * (10_240 // 2 * 3 * 2 + 24 * 128 * 128 * 4)
    assert found.state_slots == int(10 * GIB * 0.9 / 1.9) // slot - 1
    assert found.tokens == (10 * GIB - (found.state_slots + 1) * slot) // 16_384


def test_windows_have_a_pool_of_their_own() -> None:
    """A token of the full pool comes with 0.8 of a token of the sliding pool, whatever the number of layers."""
    found = pools_of(GEMMA_4_31B, 20, Sglang(), Layout(), KvFormat.BF16)
    full, sliding = 10 * 8192, 50 * 16_384
    assert found.tokens == int(20 * GIB // (full + 0.8 * sliding))
    assert found.sliding_tokens == int(found.tokens * 0.8)


@pytest.mark.parametrize(
    ("gib", "tensor", "share"),
    [(23.99, 1, 0.722), (39.99, 1, 0.83), (79.65, 1, 0.835), (79.65, 8, 0.818), (179.06, 8, 0.855)],
)
def test_the_static_share_leaves_room_by_rule(gib: float, tensor: int, share: float) -> None:
    """512 MiB, 1.5 MiB a chunk token, 2 MiB a captured request and 128 MiB a rank; at least 10 GiB on large cards."""
    settled = settle_engine(Sglang(), job_of(QWEN2_5_1_5B), device(gib), Layout(tensor=tensor))
    assert settled.static_share == pytest.approx(share, abs=0.005)
