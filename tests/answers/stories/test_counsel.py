"""What the guides say of a choice appears where it holds, with the figures that it rests on, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.answers.recommend import Recommendation
from cardmatch.catalogue.world import bundled
from tests.answers.stories.asking import recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}


def said(answer: Recommendation, code: str) -> dict[str, Any] | None:
    """The params of the notice *code* in the advice or on the first option."""
    notices = (*answer.advice, *(answer.options[0].cautions if answer.options else ()))
    return next((dict(each.params) for each in notices if each.code == code), None)


def on(card: str, concurrency: int = 4, model: str = "llama 3.1 8b", **more: Any) -> Recommendation:
    """*model* served on *card*."""
    constraints = {"cards": [card], **more.pop("constraints", {})}
    return recommended(model=model, load={**LENGTHS, "concurrency": concurrency}, constraints=constraints, **more)


def test_17_the_cheaper_card_and_the_saving_are_those_of_the_same_accuracy() -> None:
    """The saving is the difference to the best of all cards that lose no more accuracy."""
    asked = on("H100", model="7B", concurrency=1)
    notice = said(asked, "card_larger_than_needed")
    assert notice is not None
    first = asked.options[0]
    assert first.weights == "bf16"
    load = {**LENGTHS, "concurrency": 1}
    free = recommended(model="7B", load=load, allow={"weights": ["bf16"]}).options[0]
    assert notice["cheaper_card"] == free.card
    assert notice["saved_usd_per_month"] == pytest.approx(first.usd_per_month - free.usd_per_month)
    assert said(on(free.card, model="7B", concurrency=1), "card_larger_than_needed") is None


def test_16_small_cards_before_a_giant_one_while_they_cost_less() -> None:
    """200 requests at once: several 4090s cost less than the H100 that does it alone; 1,000 at once: they do not."""
    limits, allow = {"cards": ["rtx-4090", "h100-sxm-80"]}, {"weights": ["bf16"]}
    few, many = (
        recommended(model="llama 3.1 8b", load={**LENGTHS, "concurrency": number}, constraints=limits, allow=allow)
        for number in (200, 1000)
    )
    notice = said(few, "scale_out_first")
    assert notice is not None
    assert few.options[0].card == notice["card"] == "rtx-4090"
    larger = next(option for option in few.options if option.card == "h100-sxm-80")
    assert notice["saved_usd_per_month"] == pytest.approx(larger.usd_per_month - few.options[0].usd_per_month)
    assert many.options[0].card == "h100-sxm-80"
    assert said(many, "scale_out_first") is None


def test_13_a_link_matters_only_between_gpus_of_one_copy() -> None:
    """70B in 16 bits on four A100: bytes of two sums a layer, slower over PCIe; 8B on one card sends nothing."""
    answer = on("a100-sxm-80", 8, "llama 3.1 70b", constraints={"link": "nvlink"}, allow={"weights": ["bf16"]})
    notice = said(answer, "link_matters")
    assert notice is not None
    ranks = answer.options[0].layout.tensor
    ring = 2 * 80 * 2 * (ranks - 1) / ranks * 8 * 8192 * 2  # two sums in 80 layers of 8 rows of 8,192 in 16 bits
    assert notice["step_bytes"] == pytest.approx(ring, rel=1e-6)
    assert notice["pcie_seconds"] > notice["nvlink_seconds"] > 0
    assert said(answer, "link_not_needed") is None
    alone = on("rtx-4090")
    assert said(alone, "link_not_needed") is not None
    assert said(alone, "link_matters") is None


def test_13_cards_without_nvlink_say_what_pcie_costs() -> None:
    """70B on two L40S: no NVLink to be had."""
    notice = said(on("l40s", 2, "llama 3.1 70b", allow={"weights": ["fp8"]}), "link_only_pcie")
    assert notice is not None
    assert 0 < notice["pcie_seconds"] < notice["step_seconds"]


def test_10_and_11_fp8_is_native_scaled_or_absent() -> None:
    """The A100 has none, the 4090 multiplies it plainly, the H100 with block recipes of the Transformer Engine."""
    in_fp8: dict[str, Any] = {"allow": {"weights": ["fp8"]}}
    assert said(on("a100-sxm-80", allow={"weights": ["bf16"]}), "no_fp8") is not None
    assert said(on("rtx-4090", **in_fp8), "fp8_plain") is not None
    assert said(on("h100-sxm-80", **in_fp8), "fp8_scaled") is not None
    for code in ("no_fp8", "fp8_plain", "fp8_scaled"):
        assert said(on("h100-sxm-80", allow={"weights": ["bf16"]}), code) is None


def test_12_bandwidth_decides_a_lone_request_and_arithmetic_a_full_batch() -> None:
    """The share of a step that reading memory takes falls with the batch."""
    alone = said(on("h100-sxm-80", 1, allow={"weights": ["bf16"]}), "bandwidth_decides")
    assert alone is not None
    assert alone["memory_gb_s"] == bundled().cards["h100-sxm-80"].bandwidth_gb_s
    assert alone["share_percent"] > 50
    prompts = {"prompt_tokens": 4000, "output_tokens": 50, "concurrency": 64}
    full = recommended(model="llama 3.1 8b", load=prompts, constraints={"cards": ["l40s"]}, allow={"weights": ["bf16"]})
    assert said(full, "bandwidth_decides") is None


def test_15_long_runs_say_the_odds_that_one_of_many_gpus_stops() -> None:
    """The odds of the Llama 3 training run over the hours and GPUs of this one; a short run says nothing."""
    work: dict[str, Any] = {"model": "llama 3.1 8b", "workload": {"kind": "training", "method": "full"}}
    limits = {"cards": ["h100-sxm-80"], "link": "nvlink", "ecc": True}
    long = recommended(**work, job={"train_tokens": 1e11, "deadline_hours": 2000}, constraints=limits)
    notice = said(long, "long_run")
    assert notice is not None
    odds = 1 - (1 - 1.97e-5) ** (notice["run_hours"] * notice["gpus"])
    assert notice["failure_percent"] == pytest.approx(100 * odds, rel=1e-6)
    assert notice["ecc"] == "yes"
    assert notice["gpus"] == long.options[0].count
    assert said(recommended(**work, job={"train_tokens": 1e6}, constraints=limits), "long_run") is None


def test_14_and_18_slices_are_packed_on_whole_machines() -> None:
    """Six tenants: what each pays is the price of whole machines over six."""
    answer = recommended(
        model="7B", instances=6, allow={"weights": ["awq_int4"]}, constraints={"isolation": "mig", "cards": ["H100"]}
    )
    first, notice = answer.options[0], said(answer, "slices_for_tenants")
    assert notice is not None
    assert notice["each_usd_per_month"] == pytest.approx(first.machines * first.offer.usd_per_hour * 730 / 6)
    assert first.machines * first.offer.gpu_count * 7 >= 6
    assert said(on("h100-sxm-80"), "slices_for_tenants") is None


def test_2_the_cache_is_called_a_pressure_where_it_fills_the_card() -> None:
    """400 requests on a 96 GB card fill most of it; one request fills nothing."""
    crowded = on("rtx-pro-6000-blackwell", 400)
    notice = said(crowded, "kv_pressure")
    memory = crowded.options[0].per_gpu
    assert notice is not None
    assert memory is not None
    assert notice["kv_cache_bytes"] == memory.kv_cache_bytes
    assert notice["share_percent"] == pytest.approx(100 * memory.kv_cache_bytes / crowded.options[0].budget_bytes)
    assert said(on("rtx-pro-6000-blackwell", 1), "kv_pressure") is None


def test_3_quantising_names_its_cost_and_source_and_16_bits_cost_nothing() -> None:
    """INT4 was measured; the format that the model is published in loses nothing, even where it is named."""
    notice = said(on("rtx-a4000", allow={"weights": ["awq_int4"]}), "quantisation_costs_accuracy")
    assert notice is not None
    assert 0 < notice["low_percent"] < notice["high_percent"] < 10
    assert "arXiv" in notice["source"]
    plain = on("rtx-4090", allow={"weights": ["bf16"]})
    assert said(plain, "quantisation_costs_accuracy") is None
    assert plain.options[0].weights == "bf16"


def test_8_and_24_move_up_and_rent_both_where_there_are_two() -> None:
    """A reader with a profile is told when to move up; two cards are to be tested, one alone is not."""
    solo = recommended(model="7B", profile="solo_developer")
    assert said(solo, "move_up_for_memory") is not None
    both = said(solo, "rent_both")
    assert both is not None
    assert both["card"] == solo.options[0].card != both["other"]
    assert both["other"] in {option.card for option in solo.options}
    assert said(on("rtx-4090"), "rent_both") is None
    assert said(on("rtx-4090"), "move_up_for_memory") is None


def test_29_and_30_places_are_said_where_they_were_asked_about() -> None:
    """A server in the Netherlands: Nine Eyes, whose law reaches it, and what to do with checkpoints."""
    private = recommended(model="7B", constraints={"server_countries": ["NL"]})
    first = private.options[0]
    assert said(private, "server_in_nine_eyes") == {"country": "NL"}
    assert said(private, "who_can_compel") == {"country": "NL", "company_country": first.offer.company_country}
    assert said(private, "keep_checkpoints_safe") is not None
    provider = bundled().providers[first.offer.provider]
    assert first.offer.identity_check == provider.identity_check
    assert first.offer.billing == provider.billing
    assert first.offer.payment_methods == provider.payment_methods
    assert first.offer.bandwidth == provider.bandwidth
    iceland = recommended(model="7B", constraints={"server_countries": ["IS"]})
    assert said(iceland, "server_in_nine_eyes") is None
    careless = recommended(model="7B")
    for code in ("server_in_nine_eyes", "who_can_compel", "keep_checkpoints_safe", "place_not_published"):
        assert said(careless, code) is None
