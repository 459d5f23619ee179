"""What an answer says beside its options, so that nobody is surprised: limits, tight loads, links, number formats."""

from __future__ import annotations

from tests.answers.stories.asking import recommended


def test_more_tokens_than_the_model_was_made_for_are_said_and_start() -> None:
    """As /estimate-vram says it; vLLM and SGLang refuse the length unless a variable allows it."""
    load = {"prompt_tokens": 16_000, "output_tokens": 300, "concurrency": 1}
    model = "meta-llama/Llama-2-13b-chat-hf"
    answer = recommended(model=model, load=load, limit=1)
    (said,) = [each for each in answer.notices if each.code == "context_beyond_model"]
    assert said.params == {"context_tokens": 16_300, "limit_tokens": 4096}
    assert answer.options[0].command.startswith("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve")
    workload = {"kind": "inference", "engine": {"kind": "sglang"}}
    command = recommended(model=model, workload=workload, load=load, limit=1).options[0].command
    assert command.startswith("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 python -m sglang.launch_server")


def test_within_the_limit_nothing_is_said_of_it() -> None:
    """4,000 of 4,096 tokens: no notice, no variable."""
    load = {"prompt_tokens": 3_700, "output_tokens": 300, "concurrency": 1}
    answer = recommended(model="meta-llama/Llama-2-13b-chat-hf", load=load, limit=1)
    assert "context_beyond_model" not in [each.code for each in answer.notices]
    assert answer.options[0].command.startswith("vllm serve")


def test_a_tight_option_says_so_and_never_has_room_to_spare() -> None:
    """Sixteen users of 13B: options on which the load may not fit at the high end carry a caution."""
    answer = recommended(model="13B", profile="startup", limit=50)
    tight = [option for option in answer.options if option.verdict == "tight"]
    assert tight
    for option in answer.options:
        said = {each.code for each in (*option.cautions, *option.reasons)}
        assert ("tight_at_load" in said) == (option.verdict == "tight")
        assert ("room_to_spare" in said) == (option.verdict != "tight")


def test_only_tensor_parallelism_is_said_to_go_over_pcie() -> None:
    """GPUs that share the layers of a model, not its matrices, or copies side by side, send little."""
    load = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 8}
    answer = recommended(model="llama 3.1 405b", load=load, nodes=2, limit=30)
    seen = set()
    for option in answer.options:
        codes = {each.code for each in option.cautions}
        if "no_fast_link" in codes:
            seen.add(option.layout.tensor > 1)
        assert "gradients_over_pcie" not in codes
    assert seen <= {True}


def test_a_card_without_bf16_is_told_to_compute_in_fp16() -> None:
    """VLLM refuses BF16 on Turing: the command says float16, the option fp16, and a caution why."""
    load = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1}
    for name in ("vllm", "sglang"):
        workload = {"kind": "inference", "engine": {"kind": name}}
        constraints = {"cards": ["rtx-8000"]}
        option = recommended(model="7B", workload=workload, load=load, constraints=constraints, limit=1).options[0]
        assert option.command.endswith(" --dtype float16")
        assert "bf16" not in (option.weights, option.kv_cache)
        assert "no_bf16" in [each.code for each in option.cautions]


def test_nobody_measures_less_room_than_none() -> None:
    """The low end of the headroom to measure is that of a card, not of a sum."""
    answer = recommended(
        model="llama 3.1 70b", load={"prompt_tokens": 1000, "output_tokens": 300}, job={"items": 10**6}
    )
    assert answer.verification is not None
    (room,) = [each for each in answer.verification.metrics if each.metric == "headroom_bytes"]
    assert room.low is not None
    assert room.high is not None
    assert 0 <= room.low <= room.high <= answer.options[0].budget_bytes


def test_owners_are_not_told_to_rent_what_they_have() -> None:
    """Two 3090s at home come first: no advice to rent them for an hour."""
    answer = recommended(
        model="7B",
        load={"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 1},
        offers=[{"sku": "home", "card": "rtx-3090", "count": 2, "usd_per_hour": 0.06, "stock": 1}],
    )
    assert answer.options[0].card == "rtx-3090"
    assert "rent_both" not in [each.code for each in answer.advice]


def test_the_load_of_several_tenants_is_said_to_be_that_of_each() -> None:
    """Six tenants with two requests each are twelve; one tenant needs no such word."""
    load = {"prompt_tokens": 1000, "output_tokens": 300, "concurrency": 2}
    said = {each.code.value: each.params for each in recommended(model="7B", load=load, instances=6, limit=1).notices}
    assert said["load_per_tenant"] == {"replicas": 6}
    alone = recommended(model="7B", load=load, limit=1).notices
    assert "load_per_tenant" not in [each.code for each in alone]
