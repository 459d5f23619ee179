"""vLLM's printed capacity, from the pool that its own log printed, against what the log said fits in it."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.reserve import reserve
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.speculation import Speculative, SpeculativeMethod
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import (
    A100_80,
    DEEPSEEK_V4_FLASH,
    FALCON_H1_7B,
    GEMMA_4_31B,
    GLM_5,
    GPT_OSS_120B,
    H100,
    H200,
    LLAMA_4_SCOUT,
    LLAMA_8B,
    NEMOTRON_NANO_9B,
    QWEN3_5_9B,
    QWEN3_6_35B,
    QWEN3_NEXT,
    QWEN_27B,
    RTX_3090,
    RTX_PRO_6000,
    placement,
)


def logged(
    model: Architecture,
    pool_gib: float,
    options: Vllm,
    *,
    card_gib: float = H100,
    layout: Layout | None = None,
    kv_cache: KvFormat = KvFormat.BF16,
    speculative: Speculative | None = None,
) -> VllmReserves:
    """The lines that vLLM prints where it has *pool_gib* for the cache."""
    workload = Inference(engine=options, kv_cache=kv_cache, speculative=speculative)
    job, _ = settle(workload, model, plain())
    given = msgspec.structs.replace(options, kv_cache_memory_bytes=int(pool_gib * GIB))
    reserved = reserve(job, given, placement(card_gib, layout=layout), calibration().serving).reserves
    assert isinstance(reserved, VllmReserves)
    return reserved


def test_a_hybrid_shares_one_pool_between_attention_and_states() -> None:
    """Qwen3.8-27B-FP8 on two 3090s: 208 blocks, 174 a request, 313,367 tokens (public start-up log)."""
    options = Vllm(version="0.27.1", max_model_len=262144, max_num_seqs=3, max_num_batched_tokens=8192)
    log = logged(QWEN_27B, 4.99, options, card_gib=RTX_3090, layout=Layout(tensor=2), kv_cache=KvFormat.FP8_E4M3)
    assert (log.block_size_tokens, log.blocks, log.blocks_per_request) == (1568, 208, 174)
    assert log.kv_cache_tokens == pytest.approx(313_367, abs=1)


def test_the_same_pool_prints_fewer_tokens_at_half_the_length() -> None:
    """The same machine at 131,072 tokens printed 302,921: states weigh more on shorter requests."""
    options = Vllm(version="0.27.1", max_model_len=131072, max_num_seqs=3, max_num_batched_tokens=8192)
    log = logged(QWEN_27B, 4.99, options, card_gib=RTX_3090, layout=Layout(tensor=2), kv_cache=KvFormat.FP8_E4M3)
    assert log.kv_cache_tokens == pytest.approx(302_921, abs=1)


def test_drafted_tokens_widen_the_state_page() -> None:
    """With three drafted tokens the block of Qwen3.6-27B grows to 1,600 tokens (club-3090)."""
    options = Vllm(version="0.25.1", max_model_len=262144, enable_prefix_caching=False)
    log = logged(
        QWEN_27B,
        14.68,
        options,
        layout=Layout(tensor=2),
        kv_cache=KvFormat.FP8_E4M3,
        speculative=Speculative(method=SpeculativeMethod.MTP, tokens=3),
    )
    assert log.block_size_tokens == 1600
    assert log.kv_cache_tokens == pytest.approx(841_541, rel=0.002)
    assert log.max_concurrency_at_max_length == pytest.approx(3.21, abs=0.01)


def test_a_mixture_of_experts_with_states_prints_the_tokens_of_its_log() -> None:
    """Qwen3.6-35B-A3B in NVFP4: 5.98 GiB are 299 blocks, 69 a request of 131,072 tokens, 567,978 in all."""
    options = Vllm(version="0.27.1", max_model_len=131072)
    log = logged(QWEN3_6_35B, 5.98, options, kv_cache=KvFormat.FP8_E4M3)
    assert (log.block_size_tokens, log.blocks, log.blocks_per_request) == (2096, 299, 69)
    assert log.kv_cache_tokens == 567_978


@pytest.mark.parametrize(
    ("model", "version", "kv_cache", "block"),
    [
        (QWEN3_5_9B, "0.27.1", KvFormat.BF16, 528),
        (QWEN3_5_9B, "0.27.1", KvFormat.FP8_E4M3, 1056),
        (QWEN_27B, "0.19.1", KvFormat.BF16, 784),
        (QWEN_27B, "0.27.1", KvFormat.FP8_E4M3, 1568),
        (QWEN3_NEXT, "0.13.0", KvFormat.BF16, 544),
        (NEMOTRON_NANO_9B, "0.10.2", KvFormat.BF16, 672),
    ],
)
def test_blocks_grow_until_a_page_holds_a_state(
    model: Architecture, version: str, kv_cache: KvFormat, block: int
) -> None:
    """“Setting attention block size to … tokens” of public logs (vllm#37467, vllm#32492, vllm#24280).

    Qwen3.5 says that its states are in fp32; Qwen3-Next and early Nemotron, which do not, take the model's own type.
    """
    options = Vllm(version=version, max_model_len=8192)
    assert logged(model, 8, options, kv_cache=kv_cache).block_size_tokens == block


def test_an_8_bit_cache_gains_hybrids_little() -> None:
    """Falcon-H1: ×1.84 at 32,768 tokens, ×1.00 where a request is shorter than a block; else ×2.00 (vllm#55196)."""

    def gain(of: Architecture, tokens: int) -> float:
        options = Vllm(version="0.27.1", max_model_len=tokens, enable_prefix_caching=False)
        plain_cache, small = (
            logged(of, 2.0, options, kv_cache=kv_cache).max_concurrency_at_max_length
            for kv_cache in (KvFormat.BF16, KvFormat.FP8_E4M3)
        )
        return small / plain_cache

    assert gain(FALCON_H1_7B, 32768) == pytest.approx(1.84, abs=0.02)
    assert gain(FALCON_H1_7B, 512) == pytest.approx(1.00, abs=0.02)
    assert gain(LLAMA_8B, 32768) == pytest.approx(2.00, abs=0.01)


def test_gemma_4_on_an_h200_holds_what_its_log_says() -> None:
    """64.68 GiB hold 626,949 tokens of Gemma-4-31B and 103.92 GiB 1,007,303 (configiq#112; its tool said 972,134)."""
    options = Vllm(version="0.25.0", max_model_len=262144)
    assert logged(GEMMA_4_31B, 64.68, options, card_gib=H200).kv_cache_tokens == pytest.approx(626_949, rel=1e-3)
    assert logged(GEMMA_4_31B, 103.92, options, card_gib=H200).kv_cache_tokens == pytest.approx(1_007_303, rel=1e-3)


def test_gemma_4_prints_ten_times_as_many_tokens_since_0_21() -> None:
    """About 50 GiB on an A100 printed ~55k tokens with 0.20 and ~525k with 0.21 (vllm#43308)."""
    before, after = (
        logged(GEMMA_4_31B, 50, Vllm(version=version, max_model_len=262144), card_gib=A100_80).kv_cache_tokens
        for version in ("0.20.0", "0.21.0")
    )
    assert before == pytest.approx(55_000, rel=0.02)
    assert after == pytest.approx(525_000, rel=0.1)


def test_overlapped_steps_keep_two_batches_behind_a_window_since_0_26() -> None:
    """A 32,768-token batch needs 45.79 GiB for one Gemma-4 request in 0.25 and 70.79 GiB in 0.26 (vllm#49878)."""
    needs = []
    for version in ("0.25.1", "0.26.0"):
        log = logged(GEMMA_4_31B, 80, Vllm(version=version, max_model_len=262144, max_num_batched_tokens=32768))
        needs.append(log.blocks_per_request * log.kv_cache_bytes / log.blocks / GIB)
    assert needs == pytest.approx([45.79, 70.79], rel=1e-3)


def test_alternating_windows_form_two_groups() -> None:
    """gpt-oss-120b on four A100s: 45.32 GiB printed 2,640,144 tokens and 284.25x at 16,384 (vLLM 0.10.1.1)."""
    options = Vllm(version="0.10.1.1", max_model_len=16384, max_num_batched_tokens=2048)
    log = logged(GPT_OSS_120B, 45.32, options, card_gib=A100_80, layout=Layout(tensor=4))
    assert log.kv_cache_tokens == pytest.approx(2_640_144, rel=1e-4)
    assert log.max_concurrency_at_max_length == pytest.approx(284.25, rel=1e-4)


def test_packed_latents_and_their_indexer_make_one_group() -> None:
    """GLM-5.1 on eight cards: 19.55 GiB in fp8_ds_mla hold 341,504 tokens at 656 + 132 bytes a layer."""
    options = Vllm(version="0.20.2rc1", max_model_len=202752, max_num_batched_tokens=8192)
    log = logged(GLM_5, 19.55, options, card_gib=RTX_PRO_6000, layout=Layout(tensor=8), kv_cache=KvFormat.FP8_E4M3)
    assert log.kv_cache_tokens == pytest.approx(341_504, rel=1e-3)


def test_a_next_token_layer_has_a_cache_of_its_own() -> None:
    """With MTP the same model holds 319,232 tokens in 18.51 GiB."""
    options = Vllm(version="0.20.2rc1", max_model_len=202752)
    log = logged(
        GLM_5,
        18.51,
        options,
        card_gib=RTX_PRO_6000,
        layout=Layout(tensor=8),
        kv_cache=KvFormat.FP8_DS_MLA,
        speculative=Speculative(method=SpeculativeMethod.MTP, tokens=3),
    )
    assert log.kv_cache_tokens == pytest.approx(319_232, rel=1e-3)


def test_decode_context_ranks_share_the_tokens_of_a_request() -> None:
    """Eight ranks hold eight times the tokens of latents that tensor parallelism only copies (Kimi-K2, TP8 + DCP8)."""
    options = Vllm(version="0.20.0", max_model_len=202752)
    one, eight = (
        logged(GLM_5, 19.55, options, layout=Layout(tensor=8, decode_context=ranks)).kv_cache_tokens for ranks in (1, 8)
    )
    assert eight == pytest.approx(8 * one, rel=1e-3)


def test_chunked_attention_was_charged_at_full_length() -> None:
    """vllm#19407: one Llama-4-Scout request of 10M tokens was said to need 240 GiB on each of eight ranks."""
    per_request = []
    for version in ("0.9.0", "0.33.0"):
        options = Vllm(version=version, max_model_len=10_485_760)
        log = logged(LLAMA_4_SCOUT, 300, options, layout=Layout(tensor=8))
        per_request.append(log.blocks_per_request * log.kv_cache_bytes / log.blocks / GIB)
    assert per_request[0] == pytest.approx(240, rel=1e-3)
    assert per_request[1] < per_request[0] / 3.9


def test_copies_of_key_value_heads_do_not_shrink_the_cache() -> None:
    """Sixteen ranks of a model with eight key-value heads hold no more tokens in the same pool than eight ranks."""
    eight, sixteen = (
        logged(LLAMA_8B, 4, Vllm(max_model_len=8192), layout=Layout(tensor=ranks)).kv_cache_tokens for ranks in (8, 16)
    )
    assert eight == sixteen


def test_compressed_attention_packs_three_pages_and_its_states() -> None:
    """A block of DeepSeek-V4-Flash took 1,002,240 bytes in 0.28 (vllm#54703); 30,000 tokens needed 6.66 GiB in 0.22."""
    new = logged(DEEPSEEK_V4_FLASH, 12.39, Vllm(version="0.28.1", max_model_len=33792), card_gib=71)
    assert new.kv_cache_bytes / new.blocks == pytest.approx(1_002_240, rel=1e-3)
    options = Vllm(version="0.22.0", max_model_len=30000, max_num_batched_tokens=16384)
    old = logged(DEEPSEEK_V4_FLASH, 12, options, card_gib=94.5, layout=Layout(tensor=2))
    assert old.blocks_per_request * old.kv_cache_bytes / old.blocks / GIB == pytest.approx(6.66, rel=1e-3)
