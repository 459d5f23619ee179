"""Models over several GPUs in vLLM: stages, copies, experts, slices; prefixes that requests share."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.device import slice_device
from cardmatch.engine.memory.engines.vllm.options import MambaCacheMode, Vllm
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture, Attention, Experts, LayerGroup
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import H100, LLAMA_8B, LLAMA_70B, QWEN_27B, placement


def qwen3_moe(*, layers: int, hidden: int, heads: tuple[int, int], experts: int, width: int) -> Architecture:
    """Qwen3-Coder: attention of 128-wide heads, eight experts a token."""
    blocks = (
        Attention(query_heads=heads[0], kv_heads=heads[1], head_size=128),
        Experts(experts=experts, experts_per_token=8, width=width),
    )
    return Architecture(
        family="qwen3_moe",
        hidden_size=hidden,
        vocabulary_size=151936,
        layer_groups=(LayerGroup(blocks=blocks),),
        layer_order=(0,) * layers,
        maximum_context_tokens=262144,
    )


CODER_30B = qwen3_moe(layers=48, hidden=2048, heads=(32, 4), experts=128, width=768)
CODER_480B = qwen3_moe(layers=62, hidden=6144, heads=(96, 8), experts=160, width=2560)


def placed(model: Architecture, workload: Inference, where: Placement) -> PlacementEstimate:
    """The estimate on one placement."""
    return estimate_serving(model, plain(), workload, (where,), calibration().serving).placements[0]


def logged(found: PlacementEstimate) -> VllmReserves:
    """What vLLM would print."""
    assert isinstance(found.engine_reserves, VllmReserves)
    return found.engine_reserves


def request_bytes(model: Architecture, layout: Layout) -> int:
    """The cache of one request of 262,144 tokens on the fullest GPU."""
    return placed(model, Inference(context_tokens=262_144), placement(H100, layout=layout)).per_gpu.kv_cache_bytes


def test_a_pipeline_stage_caches_its_own_layers() -> None:
    """Qwen3-Coder-30B: 24.0 GiB for all 48 layers, which the error named (vllm#34076), 12.0 on each of two stages."""
    assert request_bytes(CODER_30B, Layout()) == 24 * GIB
    assert request_bytes(CODER_30B, Layout(pipeline=2)) == 12 * GIB
    assert request_bytes(CODER_30B, Layout(pipeline=4)) == 6 * GIB


def test_every_data_parallel_copy_holds_whole_requests() -> None:
    """Qwen3-Coder-480B over eight copies: one request of 262,144 tokens takes 62.0 GiB of one GPU (recipes#12)."""
    assert request_bytes(CODER_480B, Layout(data=8, expert=8)) == 62 * GIB
    assert request_bytes(CODER_480B, Layout(tensor=8, expert=8)) == 62 * GIB // 8
    assert request_bytes(CODER_480B, Layout(tensor=16, expert=16)) == 62 * GIB // 8


def test_experts_are_dealt_over_all_ranks_and_attention_over_its_own() -> None:
    """With eight data-parallel copies attention is whole on each, experts an eighth."""
    copies = placed(CODER_30B, Inference(context_tokens=4096), placement(H100, layout=Layout(data=8, expert=8)))
    alone = placed(CODER_30B, Inference(context_tokens=4096), placement(H100))
    experts = 48 * 128 * 3 * 2048 * 768 * 2
    assert alone.per_gpu.weights_bytes - copies.per_gpu.weights_bytes == experts * 7 // 8


def test_requests_are_dealt_over_the_copies() -> None:
    """Sixteen over four copies are four on each, and four times as many run at once."""
    workload = Inference(context_tokens=8192, concurrency=16)
    four = placed(LLAMA_8B, workload, placement(H100, layout=Layout(data=4)))
    alone = placed(LLAMA_8B, msgspec.structs.replace(workload, concurrency=4), placement(H100))
    assert four.per_gpu.kv_cache_bytes == alone.per_gpu.kv_cache_bytes == 4 * GIB
    assert four.max_concurrency == pytest.approx(4 * alone.max_concurrency, rel=0.05)


def test_the_stage_with_the_least_room_decides() -> None:
    """All stages hold as many blocks as the fullest: the last, which has the head of 2.1 GB besides."""
    found = placed(LLAMA_70B, Inference(context_tokens=4096), placement(H100, layout=Layout(pipeline=4)))
    layer = (8192 * (8192 * 2 + 2 * 1024) + 3 * 8192 * 28672) * 2
    assert found.per_gpu.weights_bytes > 20 * layer + 128_256 * 8192 * 2
    each = placed(LLAMA_70B, Inference(context_tokens=4096), placement(H100, layout=Layout(tensor=4)))
    assert logged(found).kv_cache_tokens < logged(each).kv_cache_tokens


def test_decode_context_ranks_share_the_tokens_of_a_request() -> None:
    """Eight heads over eight ranks and two context ranks: half the tokens on each."""
    model = msgspec.structs.replace(LLAMA_70B, layer_groups=CODER_30B.layer_groups, layer_order=(0,) * 48)
    whole = request_bytes(model, Layout(tensor=8))
    assert request_bytes(model, Layout(tensor=8, decode_context=2)) == whole // 2


def test_a_slice_has_its_own_memory_and_no_more() -> None:
    """An A100's 3g.40gb is 39.25 GiB, of which vLLM fills 0.92; Llama-8B fits it and not a 1g.10gb."""
    card = bundled().cards["a100-sxm-80"]
    large, small = (Placement(device=slice_device(card, name)) for name in ("3g.40gb", "1g.10gb"))
    workload = Inference(context_tokens=8192)
    found = placed(LLAMA_8B, workload, large)
    assert found.mig == "3g.40gb"
    assert found.budget_bytes == int(0.92 * 42_144_366_592)
    assert found.verdict in {Verdict.COMFORTABLE, Verdict.FITS}
    assert placed(LLAMA_8B, workload, small).verdict is Verdict.DOES_NOT_FIT


def test_a_shared_prefix_is_stored_once_in_whole_blocks() -> None:
    """Ten requests of 4,096 tokens that begin alike for 2,050: 128 blocks of 16 are kept once, not ten times."""
    apart = Inference(context_tokens=4096, concurrency=10)
    alike = msgspec.structs.replace(apart, shared_prefix_tokens=2050)
    saved = (
        placed(LLAMA_8B, apart, placement(H100)).per_gpu.kv_cache_bytes
        - placed(LLAMA_8B, alike, placement(H100)).per_gpu.kv_cache_bytes
    )
    assert saved == 9 * 128 * 16 * 131_072


@pytest.mark.parametrize(("mode", "pages"), [(MambaCacheMode.NONE, 1), (MambaCacheMode.ALIGN, 2), (None, 2)], ids=str)
def test_prefix_caching_keeps_a_second_state(mode: MambaCacheMode | None, pages: int) -> None:
    """Qwen3.5-27B: three groups of 16 layers of state, one page of 784 tokens' size each or two."""
    engine = Vllm(mamba_cache_mode=mode)
    found = placed(QWEN_27B, Inference(engine=engine, context_tokens=8192), placement(H100))
    assert found.per_gpu.recurrent_state_bytes == 3 * pages * 16 * 784 * 4096
