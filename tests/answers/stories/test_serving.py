"""The stories of people who serve a model: each asks as they would, and gets an answer of the right shape."""

from __future__ import annotations

from tests.answers.stories.asking import recommended, refused


def test_a_chatbot_for_one_user_gets_one_small_card() -> None:
    """7B for one user: one GPU, no NVLink, and a plan to verify it."""
    answer = recommended(model="7B", load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1})
    first = answer.options[0]
    assert first.count == first.copies == first.machines == 1
    assert first.usd_per_hour < 1
    assert "link_not_needed" in [notice.code for notice in answer.advice]
    assert answer.verification is not None
    assert [metric.metric for metric in answer.verification.metrics] == [
        "output_tokens_per_second",
        "request_latency",
        "headroom_bytes",
        "cost_per_finished_work",
    ]


def test_an_h100_for_a_7b_chatbot_is_called_more_than_needed() -> None:
    """The commonest mistake: the answer names the cheaper card and the saving per month."""
    answer = recommended(
        model="7B",
        load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1},
        constraints={"cards": ["H100"]},
    )
    assert answer.options[0].card.startswith("h100")
    (notice,) = [notice for notice in answer.advice if notice.code == "card_larger_than_needed"]
    assert not str(notice.params["cheaper_card"]).startswith("h100")
    assert float(str(notice.params["saved_usd_per_month"])) > 100


def test_without_a_load_nothing_is_called_more_than_needed() -> None:
    """With no load given the answer asks for it instead."""
    answer = recommended(model="7B", constraints={"cards": ["H100"]})
    assert "card_larger_than_needed" not in [notice.code for notice in answer.advice]
    assert answer.ask_next is not None
    assert answer.ask_next.code == "load"


def test_thousands_of_requests_at_once_take_several_copies_or_large_memory() -> None:
    """8B for 2,000 requests at once: every option holds all of them."""
    answer = recommended(model="llama 3.1 8b", load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 2000})
    for option in answer.options:
        assert option.max_concurrency is not None
        assert option.max_concurrency >= 2000 * 0.98
        assert option.verdict in {"comfortable", "fits"}


def test_70b_for_32_users_at_8k_stays_resident() -> None:
    """Every option holds weights and cache of all 32 users; a format that costs accuracy says so."""
    answer = recommended(model="llama 3.1 70b", load={"prompt_tokens": 7500, "output_tokens": 500, "concurrency": 32})
    assert answer.options
    for option in answer.options:
        assert (option.max_concurrency or 0) >= 32
        quantised = option.weights != "bf16"
        assert quantised == any(each.code == "quantisation_costs_accuracy" for each in option.cautions)


def test_six_tenants_share_cut_up_cards() -> None:
    """Six int4 7B servers on MIG slices: whole machines are paid, and each tenant's share is said."""
    answer = recommended(model="7B", instances=6, allow={"weights": ["awq_int4"]}, constraints={"isolation": "mig"})
    first = answer.options[0]
    assert first.mig is not None
    assert first.copies == 6
    (notice,) = [notice for notice in answer.advice if notice.code == "slices_for_tenants"]
    assert notice.params["each_usd_per_month"] == first.usd_per_month / 6
    assert list(first.requires.kubernetes_resource) == [f"nvidia.com/mig-{first.mig}"]


def test_an_own_fleet_uses_no_more_than_its_stock() -> None:
    """Only the caller's machines, and no more of them than there are."""
    fleet = [
        {"sku": "a", "card": "rtx-3090", "count": 2, "usd_per_hour": 0.1, "stock": 1},
        {"sku": "b", "card": "a100-sxm-80", "count": 4, "usd_per_hour": 2.0, "stock": 3},
    ]
    answer = recommended(
        model="llama 3.1 8b",
        load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 400},
        offers=fleet,
        offers_mode="only",
    )
    assert {option.offer.provider for option in answer.options} == {"own"}
    assert all(option.machines <= (option.offer.stock or 0) for option in answer.options)


def test_two_3090_at_home_stand_beside_what_is_rented() -> None:
    """The own machine ranks with the market at its own price of power."""
    home = [{"sku": "home", "card": "rtx-3090", "count": 2, "usd_per_hour": 0.12, "stock": 1}]
    answer = recommended(
        model="llama 3.1 8b", load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 4}, offers=home
    )
    assert answer.options[0].offer.id == "own/home"
    others = {row.reason.code.value for row in answer.not_chosen} & {"card_costs_more", "card_beaten"}
    assert others or any(option.offer.provider != "own" for option in answer.options)


def test_ten_thousand_requests_a_day_are_reckoned_by_the_month() -> None:
    """A day's requests, with the peak that was assumed."""
    answer = recommended(
        model="llama 3.1 8b", load={"prompt_tokens": 1000, "output_tokens": 300, "requests_per_day": 10_000}
    )
    assert answer.options[0].usd_per_month == answer.options[0].usd_per_hour * 730
    assert "/load/peak_factor" in [each.pointer for each in answer.assumptions]


def test_monero_without_identity_check_outside_fourteen_eyes_is_named_but_not_priced() -> None:
    """No price is known of the one provider that takes it; it is named with what is not known."""
    answer = recommended(
        model="7B",
        constraints={
            "identity_check": "none",
            "payment_methods": ["monero"],
            "exclude_server_countries": ["fourteen_eyes"],
        },
    )
    assert answer.options == ()
    assert answer.nearest is not None
    assert all("usd_per_hour" in match.unknown for match in answer.unpriced_matches)
    sure = [match for match in answer.unpriced_matches if set(match.unknown) <= {"usd_per_hour", "card"}]
    assert {match.provider for match in sure} == {"chainvps"}
    assert answer.unpriced_matches[: len(sure)] == tuple(sure)


def test_a_raw_config_of_an_unreleased_model_is_enough() -> None:
    """A config.json that no catalogue has."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 30,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "vocab_size": 100_000,
        "max_position_embeddings": 32_768,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    }
    answer = recommended(model={"kind": "config", "config": config})
    assert answer.options
    assert answer.model.id is None


def test_conditions_that_contradict_each_other_leave_every_card_with_a_reason() -> None:
    """200 with no option, each card and its reason, and what comes nearest."""
    answer = recommended(model="llama 3.1 405b", constraints={"max_usd_per_hour": 0.5, "ecc": True})
    assert answer.options == ()
    assert answer.verification is None
    assert len(answer.not_chosen) == 63
    assert all(row.reason.message for row in answer.not_chosen)
    assert answer.nearest is not None
    assert answer.nearest.change is not None


def test_names_that_nobody_knows_are_refused() -> None:
    """A provider, a country, a payment method."""
    assert refused(model="7B", constraints={"providers": ["runpodd"]}) == ["/constraints/providers/0"]
    assert refused(model="7B", constraints={"server_countries": ["XX"]}) == ["/constraints/server_countries/0"]


def test_a_load_and_a_workload_with_lengths_are_refused() -> None:
    """Both say how long requests are."""
    load = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1}
    assert refused(model="7B", load=load, workload={"kind": "inference", "context_tokens": 8192}) == [
        "/workload/context_tokens"
    ]
    assert refused(model="7B", load={"prompt_tokens": 1, "output_tokens": 1}) == ["/load"]


def test_spot_prices_count_only_where_allowed_and_say_what_they_leave_out() -> None:
    """Interruptible machines rank when asked for; their bill counts no interruption, and says so."""
    load = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 8}
    plain = recommended(model="llama 3.1 8b", load=load, limit=20)
    assert not any(option.offer.spot for option in plain.options)
    spot = recommended(model="llama 3.1 8b", load=load, limit=20, allow={"spot": True})
    chosen = [option for option in spot.options if option.offer.spot]
    assert chosen
    assert all("spot_may_stop" in [each.code for each in option.cautions] for option in chosen)
    assert spot.options[0].usd_per_hour <= plain.options[0].usd_per_hour


def test_cards_that_vllm_no_longer_runs_on_are_left_out() -> None:
    """Volta is below the compute capability of 7.5 that its documentation asks for; llama.cpp still runs there."""
    asked = {"model": "llama 3.1 8b", "constraints": {"cards": ["v100-pcie-32"]}}
    assert not recommended(**asked).options
    assert recommended(**asked, workload={"kind": "inference", "engine": {"kind": "llama_cpp"}}).options


def test_a_card_without_bf16_is_said_to_compute_in_fp16() -> None:
    """Turing: not that BF16 is the best that it multiplies."""
    answer = recommended(model="llama 3.1 8b", constraints={"cards": ["rtx-8000"]}, allow={"weights": ["as_published"]})
    assert "no_bf16" in [notice.code for notice in answer.options[0].cautions]
    assert "no_fp8" not in [notice.code for notice in answer.advice]


def test_offers_of_cards_that_nobody_asked_for_might_not_qualify() -> None:
    """Only 4090s were asked about: an offer that may be an H100 is no match, whatever is not known of it."""
    answer = recommended(model="llama 3.1 70b", constraints={"cards": ["rtx-4090"], "max_gpus": 1})
    assert not answer.options
    for row in (*answer.unpriced_matches, *answer.unknown_matches):
        assert "rtx-4090" in {row.card, *(row.card_candidates or ())} or (row.card, row.card_candidates) == (None, None)
    assert answer.nearest is not None
    assert answer.nearest.card == "rtx-4090"
    assert answer.nearest.reason.message in answer.summary


def test_a_card_that_fails_what_was_asked_comes_nearer_than_one_that_nobody_asked_for() -> None:
    """A 4090 has no MIG: that is why nothing is found, and not that an A10 is no 4090."""
    answer = recommended(model="7B", constraints={"cards": ["rtx-4090"], "isolation": "mig"})
    assert answer.nearest is not None
    assert answer.nearest.card == "rtx-4090"
    assert answer.nearest.reason.params["field"] == "isolation"
