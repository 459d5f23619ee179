"""The opening sentences of an estimate."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Change, Host, Need, PerGpu, PlacementEstimate, WayToFit
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.band import Band, Basis
from cardmatch.engine.terms.units import GIB
from cardmatch.text.language import Language
from cardmatch.text.summary import MOST_NAMED, Load, Subject, estimate_summary, place_name
from cardmatch.text.words import way_in_words

EN, ES, ZH = Language.EN, Language.ES, Language.ZH
CARDS = {"rtx-4090": "GeForce RTX 4090", "h100-sxm-80": "H100 SXM5 80GB", "a100-sxm-80": "A100 SXM4 80GB"}
LLAMA = Subject("Llama-3.1-8B-Instruct")
# 8.03 × 10^9 parameters at 16 bits; 32 layers × 8 KV heads × 128 × 2 × 2 bytes × 8,192 tokens × 16 requests.
NEED = Need(weights_bytes=16_060_522_496, kv_cache_bytes=16 * GIB, recurrent_state_bytes=0)
RESERVES = VllmReserves(
    version="0.33.0",
    model_bytes=0,
    kv_cache_bytes=0,
    kv_cache_tokens=0,
    block_size_tokens=16,
    blocks=0,
    blocks_per_request=0,
    max_concurrency_at_max_length=0,
    graphs_bytes=0,
    max_model_len_tokens=1,
    max_num_seqs=1,
    max_num_batched_tokens=1,
)
LOAD = Load(requests=16, mean_tokens=8192)


def _placement(
    card: str | None, verdict: Verdict, *, count: int = 1, mig: str | None = None, at_once: int = 0, headroom: int = GIB
) -> PlacementEstimate:
    total = Band(low_bytes=0, expected_bytes=0, high_bytes=0, basis=Basis.EXACT)
    return PlacementEstimate(
        card=card,
        count=count,
        layout=Layout(tensor=count),
        mig=mig,
        verdict=verdict,
        bound_by="gpu_memory_utilization",
        per_gpu=PerGpu(
            weights_bytes=0,
            kv_cache_bytes=0,
            recurrent_state_bytes=0,
            activations_bytes=0,
            overhead_bytes=0,
            total=total,
        ),
        budget_bytes=0,
        physical_bytes=24 * GIB,
        headroom_bytes=headroom,
        engine_reserves=RESERVES,
        host=Host(ram_bytes=0),
        max_context_tokens=0,
        max_concurrency=at_once,
    )


QUEUES = _placement("rtx-4090", Verdict.QUEUES, at_once=5)
COMFORTABLE = _placement("h100-sxm-80", Verdict.COMFORTABLE)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            EN,
            (
                "Llama-3.1-8B-Instruct needs 14.96 GiB of weights and 16.00 GiB of KV cache for 16 requests of 8,192"
                " tokens each. It fits comfortably on H100 SXM5 80GB. On GeForce RTX 4090 it starts, but at most 5"
                " requests run at once and the others wait."
            ),
        ),
        (
            ES,
            (
                "Llama-3.1-8B-Instruct necesita 14,96 GiB de pesos y 16,00 GiB de caché KV para 16 peticiones de 8.192"
                " tokens cada una. Cabe con holgura en H100 SXM5 80GB. En GeForce RTX 4090 arranca, pero se ejecutan"
                " como máximo 5 peticiones a la vez y las demás esperan."
            ),
        ),
        (
            ZH,
            (
                "处理 16 个请求（每个 8,192 token）时，Llama-3.1-8B-Instruct 需要 14.96 GiB 权重和 16.00 GiB KV 缓存。"
                "H100 SXM5 80GB 可以宽裕地容纳。"
                "GeForce RTX 4090 可以启动，但最多同时运行 5 个请求，其余请求需要排队。"
            ),
        ),
    ],
)
def test_a_summary_says_need_best_and_worst(language: Language, expected: str) -> None:
    """Three sentences with the figures: what the job needs, where it fits, where it does not."""
    assert estimate_summary(LLAMA, NEED, LOAD, (QUEUES, COMFORTABLE), CARDS, language) == expected


@pytest.mark.parametrize("language", Language)
def test_every_mix_of_verdicts_has_its_sentences(language: Language) -> None:
    """Whatever the verdicts, there are two or three sentences that name every place."""
    for mix in range(1, 1 << len(Verdict)):
        placements = [
            _placement(None, verdict, count=index + 2, at_once=3)
            for index, verdict in enumerate(Verdict)
            if mix & 1 << index
        ]
        said = estimate_summary(LLAMA, NEED, LOAD, placements, CARDS, language)
        assert all(place_name(placement, CARDS, language) in said for placement in placements)
        assert 2 <= said.replace("。", ". ").replace("; ", "").count(". ") + (not said.endswith("。")) <= 3


def test_one_request_is_spoken_of_in_the_singular() -> None:
    """A single request is no list of requests."""
    need = msgspec.structs.replace(NEED, kv_cache_bytes=GIB)
    said = estimate_summary(LLAMA, need, Load(1, 8192), (COMFORTABLE,), CARDS, EN)
    assert "1.00 GiB of KV cache for 1 request of 8,192 tokens." in said


def test_what_is_missing_is_said_where_nothing_fits() -> None:
    """A single card that is too small is told by how much."""
    short = _placement("rtx-4090", Verdict.DOES_NOT_FIT, headroom=-3 * GIB)
    said = estimate_summary(LLAMA, NEED, LOAD, (short,), CARDS, EN)
    assert said.endswith("It does not fit on GeForce RTX 4090, where 3.00 GiB are missing on each GPU.")


def test_a_size_stands_for_typical_models() -> None:
    """A bare size is answered with `about`, since it names no model."""
    said = estimate_summary(Subject("7B", is_size=True), NEED, LOAD, (COMFORTABLE,), CARDS, EN)
    assert said.startswith("A typical 7B model needs about 14.96 GiB of weights")


def test_a_model_without_a_name_and_with_state_is_described() -> None:
    """Recurrent state is named beside the cache, or instead of it."""
    hybrid = msgspec.structs.replace(NEED, recurrent_state_bytes=GIB)
    mamba = msgspec.structs.replace(hybrid, kv_cache_bytes=0)
    said = [estimate_summary(Subject(None), need, LOAD, (COMFORTABLE,), CARDS, EN) for need in (hybrid, mamba)]
    assert said[0].startswith("The model needs 14.96 GiB of weights, 16.00 GiB of KV cache and 1.00 GiB of recurrent")
    assert said[1].startswith("The model needs 14.96 GiB of weights and 1.00 GiB of recurrent state")


def test_long_lists_of_cards_are_cut_short() -> None:
    """A sentence names a handful of cards and counts the rest."""
    many = tuple(_placement(f"card-{index}", Verdict.FITS) for index in range(MOST_NAMED + 4))
    said = estimate_summary(LLAMA, NEED, LOAD, many, CARDS, EN)
    assert said.endswith("It fits on card-0, card-1, card-2, card-3, card-4, and 5 more.")


@pytest.mark.parametrize(
    ("placement", "english", "spanish", "chinese"),
    [
        (QUEUES, "GeForce RTX 4090", "GeForce RTX 4090", "GeForce RTX 4090"),
        (
            _placement("h100-sxm-80", Verdict.FITS, count=2),
            "2 × H100 SXM5 80GB",
            "2 × H100 SXM5 80GB",
            "2 × H100 SXM5 80GB",
        ),
        (
            _placement("a100-sxm-80", Verdict.FITS, mig="3g.40gb"),
            "one 3g.40gb slice of A100 SXM4 80GB",
            "una partición 3g.40gb de A100 SXM4 80GB",
            "A100 SXM4 80GB 的一个 3g.40gb 切片",
        ),
        (_placement(None, Verdict.FITS), "a GPU of 24.00 GiB", "una GPU de 24,00 GiB", "24.00 GiB 显存的 GPU"),
    ],
)
def test_places_have_names(placement: PlacementEstimate, english: str, spanish: str, chinese: str) -> None:
    """A card is called by its name, its number, its slice or its memory."""
    assert [place_name(placement, CARDS, language) for language in Language] == [english, spanish, chinese]


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ([("/workload/weights", "awq_int4")], "With the weights in AWQ INT4, the verdict is “fits”"),
        (
            [("/workload/weights", "fp8"), ("/workload/kv_cache", "fp8_e4m3")],
            "With the weights in FP8 and the KV cache in FP8 (E4M3), the verdict is “fits”",
        ),
        ([("/workload/concurrency", 1)], "With 1 request at a time, the verdict is “fits”"),
        ([("/cards/3/card", "h100-sxm-80")], "On H100 SXM5 80GB, the verdict is “fits”"),
        ([("/workload/engine/n_cpu_moe", 3)], "With the experts of 3 layers in RAM, the verdict is “fits”"),
        ([("/workload/engine/enforce_eager", True)], "With /workload/engine/enforce_eager = true, the verdict"),
    ],
)
def test_a_way_to_fit_is_said_by_what_it_changes(changes: list[tuple[str, str | int]], start: str) -> None:
    """The fields that change choose the sentence; a set without one of its own is listed."""
    way = WayToFit(
        changes=tuple(Change(pointer=pointer, value=value) for pointer, value in changes),
        verdict=Verdict.FITS,
        headroom_bytes=2 * GIB,
    )
    said = way_in_words(way, CARDS, EN).message
    assert said.startswith(start)
    assert said.endswith("with 2.00 GiB to spare on each GPU.")
