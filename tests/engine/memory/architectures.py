"""Models of the memory tests, from their published configurations, and devices with the memory that CUDA prints."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    Dense,
    Experts,
    Indexer,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    LinearKind,
    Mamba,
    NextTokenLayers,
    Span,
    StateDtypes,
)
from cardmatch.engine.terms.units import GIB


def dense(
    *,
    layers: int,
    hidden: int,
    heads: tuple[int, int, int],
    width: int,
    vocabulary: int,
    context: int,
    small: int = 0,
    tied: bool = False,
) -> Architecture:
    """A Llama-like model; *heads* are query heads, key-value heads and head size."""
    queries, keys, size = heads
    blocks = (Attention(query_heads=queries, kv_heads=keys, head_size=size), Dense(width=width))
    return Architecture(
        family="llama",
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        layer_groups=(LayerGroup(blocks=blocks, small_parameters=2 * hidden + small),),
        layer_order=(0,) * layers,
        maximum_context_tokens=context,
        tied_embeddings=tied,
        small_parameters=hidden,
        rotary_cache_elements=context * size,
    )


LLAMA_8B = dense(layers=32, hidden=4096, heads=(32, 8, 128), width=14336, vocabulary=128256, context=131072)
LLAMA_70B = dense(layers=80, hidden=8192, heads=(64, 8, 128), width=28672, vocabulary=128256, context=131072)
LLAMA_2_13B = dense(layers=40, hidden=5120, heads=(40, 40, 128), width=13824, vocabulary=32000, context=4096)
MISTRAL_7B = dense(layers=32, hidden=4096, heads=(32, 8, 128), width=14336, vocabulary=32768, context=32768)
QWEN3_32B = dense(layers=64, hidden=5120, heads=(64, 8, 128), width=25600, vocabulary=151936, context=40960, small=256)
QWEN2_5_1_5B = dense(
    layers=28, hidden=1536, heads=(12, 2, 128), width=8960, vocabulary=151936, context=32768, small=2048, tied=True
)
QWEN3_4B = dense(
    layers=36, hidden=2560, heads=(32, 8, 128), width=9728, vocabulary=151936, context=40960, small=256, tied=True
)


def qwen_gated_delta(
    *, hidden: int, layers: int, heads: tuple[int, int], width: int, value_heads: int = 48, state: int | None = 4
) -> Architecture:
    """Qwen3.5-27B and its kin: three gated-delta layers to one of attention; *heads* are query and KV heads.

    *state* is the format of the state that the configuration names, in bytes per element.
    """
    linear = LinearAttention(
        variant=LinearKind.GATED_DELTA,
        key_heads=16,
        value_heads=value_heads,
        key_head_size=128,
        value_head_size=128,
        convolution_width=4,
    )
    attention = Attention(query_heads=heads[0], kv_heads=heads[1], head_size=256, output_gate=True)
    groups = (LayerGroup(blocks=(linear, Dense(width=width))), LayerGroup(blocks=(attention, Dense(width=width))))
    return Architecture(
        family="qwen3_5",
        hidden_size=hidden,
        vocabulary_size=248320,
        layer_groups=groups,
        layer_order=(0, 0, 0, 1) * (layers // 4),
        maximum_context_tokens=262144,
        next_token_layers=NextTokenLayers(layers=1, group=groups[1]),
        state=StateDtypes(recurrent_bytes=state),
    )


QWEN_27B = qwen_gated_delta(hidden=5120, layers=64, heads=(24, 4), width=17408)
QWEN3_5_9B = qwen_gated_delta(hidden=4096, layers=32, heads=(16, 4), width=12288, value_heads=32)
QWEN3_6_35B = qwen_gated_delta(hidden=2048, layers=40, heads=(16, 2), width=512, value_heads=32)
QWEN3_NEXT = qwen_gated_delta(hidden=2048, layers=48, heads=(16, 2), width=512, value_heads=32, state=None)


def falcon_h1_7b() -> Architecture:
    """Attention and a Mamba-2 mixer side by side in each of 44 layers."""
    attention = Attention(query_heads=12, kv_heads=2, head_size=128)
    mamba = Mamba(version=2, inner_size=3072, state_size=256, convolution_width=4, heads=24)
    return Architecture(
        family="falcon_h1",
        hidden_size=3072,
        vocabulary_size=130049,
        layer_groups=(LayerGroup(blocks=(attention, mamba, Dense(width=12288))),),
        layer_order=(0,) * 44,
        maximum_context_tokens=262144,
    )


FALCON_H1_7B = falcon_h1_7b()


def nemotron_nano_9b() -> Architecture:
    """Nemotron-Nano-9B-v2: 27 Mamba-2 layers, 25 feed-forwards and 4 layers of attention."""
    mamba = Mamba(version=2, inner_size=10240, state_size=128, convolution_width=4, heads=128, groups=8)
    groups = (
        LayerGroup(blocks=(mamba,)),
        LayerGroup(blocks=(Dense(width=15680, gated=False),)),
        LayerGroup(blocks=(Attention(query_heads=40, kv_heads=8, head_size=128),)),
    )
    return Architecture(
        family="nemotron_h",
        hidden_size=4480,
        vocabulary_size=131072,
        layer_groups=groups,
        layer_order=(0,) * 27 + (1,) * 25 + (2,) * 4,
        maximum_context_tokens=131072,
    )


NEMOTRON_NANO_9B = nemotron_nano_9b()


def gemma_4_31b() -> Architecture:
    """Five sliding layers of 16 × 256 to one of 4 × 512 that keeps every token, sixty in all."""
    sliding = Attention(query_heads=32, kv_heads=16, head_size=256, span=Span.SLIDING, window_tokens=1024)
    full = Attention(query_heads=32, kv_heads=4, head_size=512, keys_are_values=True)
    feed = Dense(width=21504)
    return Architecture(
        family="gemma4",
        hidden_size=5376,
        vocabulary_size=262144,
        layer_groups=(LayerGroup(blocks=(sliding, feed)), LayerGroup(blocks=(full, feed))),
        layer_order=(0, 0, 0, 0, 0, 1) * 10,
        maximum_context_tokens=262144,
        tied_embeddings=True,
    )


GEMMA_4_31B = gemma_4_31b()


def gpt_oss(*, layers: int, experts: int) -> Architecture:
    """gpt-oss: sliding layers of 128 tokens and full ones in turn, experts of 2,880."""
    feed = Experts(experts=experts, experts_per_token=4, width=2880)
    sliding = Attention(query_heads=64, kv_heads=8, head_size=64, span=Span.SLIDING, window_tokens=128)
    full = Attention(query_heads=64, kv_heads=8, head_size=64)
    return Architecture(
        family="gpt_oss",
        hidden_size=2880,
        vocabulary_size=201088,
        layer_groups=(LayerGroup(blocks=(sliding, feed)), LayerGroup(blocks=(full, feed))),
        layer_order=(0, 1) * (layers // 2),
        maximum_context_tokens=131072,
    )


GPT_OSS_120B = gpt_oss(layers=36, experts=128)


def llama_4_scout() -> Architecture:
    """Three chunked layers of 8,192 tokens to one that keeps every token, 48 in all."""
    feed = Experts(experts=16, experts_per_token=1, width=8192, shared_width=8192)
    chunked = Attention(query_heads=40, kv_heads=8, head_size=128, span=Span.CHUNKED, window_tokens=8192)
    full = Attention(query_heads=40, kv_heads=8, head_size=128)
    return Architecture(
        family="llama4",
        hidden_size=5120,
        vocabulary_size=202048,
        layer_groups=(LayerGroup(blocks=(chunked, feed)), LayerGroup(blocks=(full, feed))),
        layer_order=(0, 0, 0, 1) * 12,
        maximum_context_tokens=10_485_760,
    )


LLAMA_4_SCOUT = llama_4_scout()


def glm_5() -> Architecture:
    """GLM-5.1: latent attention with an indexer in each of 78 layers, one next-token layer."""
    attention = LatentAttention(
        heads=64,
        kv_rank=512,
        no_rope_head_size=192,
        rope_head_size=64,
        value_head_size=256,
        query_rank=2048,
        indexer=Indexer(heads=32, head_size=128),
    )
    group = LayerGroup(blocks=(attention, Experts(experts=256, experts_per_token=8, width=2048, shared_width=2048)))
    return Architecture(
        family="glm_moe_dsa",
        hidden_size=6144,
        vocabulary_size=154880,
        layer_groups=(group,),
        layer_order=(0,) * 78,
        maximum_context_tokens=202752,
        next_token_layers=NextTokenLayers(layers=1, group=group),
    )


GLM_5 = glm_5()


def deepseek_v3_2() -> Architecture:
    """DeepSeek-V3.2: latent attention with an indexer in each of 61 layers."""
    attention = LatentAttention(
        heads=128,
        kv_rank=512,
        no_rope_head_size=128,
        rope_head_size=64,
        value_head_size=128,
        query_rank=1536,
        indexer=Indexer(heads=64, head_size=128),
    )
    group = LayerGroup(blocks=(attention, Experts(experts=256, experts_per_token=8, width=2048, shared_width=2048)))
    return Architecture(
        family="deepseek_v32",
        hidden_size=7168,
        vocabulary_size=129280,
        layer_groups=(group,),
        layer_order=(0,) * 61,
        maximum_context_tokens=163840,
    )


DEEPSEEK_V3_2 = deepseek_v3_2()


def deepseek_v4_flash() -> Architecture:
    """DeepSeek-V4-Flash: 43 layers with a window of 128, of which 21 keep one latent in 4 tokens and 20 one in 128."""

    def attention(ratio: int) -> CompressedAttention:
        return CompressedAttention(
            heads=64,
            latent_size=512,
            ratio=ratio,
            window_tokens=128,
            query_rank=1024,
            output_groups=8,
            output_rank=1024,
            indexer=Indexer(heads=64, head_size=128) if ratio == 4 else None,
        )

    feed = Experts(experts=256, experts_per_token=6, width=2048, shared_width=2048)
    return Architecture(
        family="deepseek_v4",
        hidden_size=4096,
        vocabulary_size=129280,
        layer_groups=tuple(LayerGroup(blocks=(attention(ratio), feed)) for ratio in (0, 4, 128)),
        layer_order=(0, 0, *(1, 2) * 20, 1),
        maximum_context_tokens=1_048_576,
    )


DEEPSEEK_V4_FLASH = deepseek_v4_flash()


def device(gib: float, card: str | None = None, **facts: Any) -> Device:
    """A device of which CUDA prints *gib* GiB in all."""
    size = int(gib * GIB)
    return Device(
        card=card, physical_bytes=size, memory_bytes=size, memory_low_bytes=size, memory_high_bytes=size, **facts
    )


def placement(gib: float, card: str | None = None, *, layout: Layout | None = None, **facts: Any) -> Placement:
    """*layout*'s number of devices of *gib* GiB."""
    place = layout or Layout()
    return Placement(device=device(gib, card), count=place.gpus, layout=place, **facts)


RTX_3090 = 23.59
RTX_4090 = 23.64
A100_80 = 79.25
H100 = 79.18
H200 = 139.8
RTX_PRO_6000 = 94.97
