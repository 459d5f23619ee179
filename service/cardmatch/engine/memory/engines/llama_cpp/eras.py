"""What changed in llama.cpp and when: build numbers of the releases from which each behaviour holds.

Build numbers stand for dates: b5192 April 2025, b6325 end of August 2025, b7400 December 2025, b9272 22 May 2026,
b9525 5 June 2026, b10121 July 2026, b11501 October 2026 (the numbers that logs print).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

CURRENT_BUILD = 11_501

# Pull requests of ggml-org/llama.cpp in brackets.
LATENT_KEYS_AND_VALUES = 5_140  # 576 + 512 elements cached per layer of MLA (12801)
WINDOWED_CACHE = 5_429  # sliding layers keep a window, sized by the logical batch (13194)
WINDOW_BY_MICRO_BATCH = 5_560  # the same, sized by the micro-batch
FUSED_GATES = 5_780  # gate, up and product of a feed-forward are three results, before two (14158)
SEPARATE_STREAMS = 5_913  # slots may have caches of their own (14363)
FLASH_ATTENTION_AUTO = 6_325  # before, off unless asked for (15434)
FOUR_UNIFIED_SLOTS = 7_200  # llama-server without -np: four slots on one cache (16736)
FIT = 7_407  # unset arguments are adjusted to free memory (16653)
OUTPUT_FIRST = 7_450  # the output counts as the first layer to be offloaded, before as the last (18148)
LATENT_KEYS_ONLY = 7_830  # MLA caches keys alone, values are a view of them (19067)
HALF_MASK = 9_390  # the attention mask is f16 from the start (23764)
LIMITED_OUTPUTS = 9_440  # llama-server reserves logits for its slots alone (23861)
RESERVED_DEQUANTISATION = 9_500  # f16 copies of a quantised cache lie in the compute buffer (23907)


class MlaEra(StrEnum):
    """What llama.cpp caches of multi-head latent attention."""

    EXPANDED = "expanded"
    KEYS_AND_VALUES = "kv"
    KEYS_ONLY = "k_only"


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviours of one build."""

    mla: MlaEra
    windowed_cache: bool
    fused_gates: bool
    separate_streams: bool
    output_first: bool
    window_by_micro_batch: bool
    flash_attention_auto: bool
    default_slots: int
    default_unified: bool
    fits_by_itself: bool
    half_mask: bool
    limited_outputs: bool
    reserved_dequantisation: bool


def era_of(build: int) -> Era:
    """The behaviours of mainline build *build*."""
    mla = MlaEra.EXPANDED
    if build >= LATENT_KEYS_AND_VALUES:
        mla = MlaEra.KEYS_ONLY if build >= LATENT_KEYS_ONLY else MlaEra.KEYS_AND_VALUES
    four = build >= FOUR_UNIFIED_SLOTS
    return Era(
        mla=mla,
        windowed_cache=build >= WINDOWED_CACHE,
        fused_gates=build >= FUSED_GATES,
        separate_streams=build >= SEPARATE_STREAMS,
        output_first=build >= OUTPUT_FIRST,
        window_by_micro_batch=build >= WINDOW_BY_MICRO_BATCH,
        flash_attention_auto=build >= FLASH_ATTENTION_AUTO,
        default_slots=4 if four else 1,
        default_unified=four,
        fits_by_itself=build >= FIT,
        half_mask=build >= HALF_MASK,
        limited_outputs=build >= LIMITED_OUTPUTS,
        reserved_dequantisation=build >= RESERVED_DEQUANTISATION,
    )


IK_ERA = Era(
    mla=MlaEra.KEYS_ONLY,
    windowed_cache=False,
    fused_gates=False,
    separate_streams=False,
    output_first=False,
    window_by_micro_batch=False,
    flash_attention_auto=True,
    default_slots=1,
    default_unified=True,
    fits_by_itself=False,
    half_mask=True,
    limited_outputs=False,
    reserved_dequantisation=False,
)
"""The ik_llama.cpp fork, as far as its logs of 2025 and 2026 show: one layout for all of its builds."""
