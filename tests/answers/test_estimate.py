"""POST /estimate-vram: figures that were read off engines' logs and checkpoints, from the names that people use."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.estimate import Estimate, EstimateRequest, estimate_vram
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB
from cardmatch.text.language import Language

TODAY = dt.date(2026, 11, 30)
GOOD = {Verdict.COMFORTABLE, Verdict.FITS}


def ask(model: Any, workload: dict[str, Any] | None = None, cards: list[Any] | None = None, **more: Any) -> Estimate:
    """The answer to a request as it stands on the wire."""
    body = {"model": model, "workload": {"kind": "inference", **(workload or {})}, **more}
    if cards is not None:
        body["cards"] = cards
    request = msgspec.convert(body, EstimateRequest)
    answer = estimate_vram(bundled(), request, request.language or Language.EN, TODAY)
    assert isinstance(answer, Estimate)
    return answer


def gib(size: int) -> float:
    """Bytes as logs print them."""
    return round(size / GIB, 2)


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def test_llama_8b_needs_what_its_checkpoint_and_cache_take() -> None:
    """14.96 GiB of weights; 1.00 GiB of cache for 8,192 tokens, 32.0 for 32 such requests."""
    one = ask(LLAMA, {"context_tokens": 8192, "concurrency": 1})
    assert gib(one.need.weights_bytes) == 14.96
    assert gib(one.need.kv_cache_bytes) == 1.0
    assert gib(ask(LLAMA, {"context_tokens": 8192, "concurrency": 32}).need.kv_cache_bytes) == 32.0


def test_sixteen_long_requests_queue_on_a_4090_and_fit_an_h100() -> None:
    """The 4090 starts and runs as many as its pool holds; the H100 holds all of them."""
    answer = ask(LLAMA, {"context_tokens": 8192, "concurrency": 16}, ["rtx-4090", "h100-sxm-80"])
    small, large = answer.placements
    assert small.verdict is Verdict.QUEUES
    assert 4 <= small.max_concurrency <= 6
    assert str(small.max_concurrency) in answer.summary
    assert large.verdict in GOOD


def test_a_70b_in_four_bits_over_two_cards() -> None:
    """Llama-3.1-70B AWQ: 37.04 GiB of weights and 20.0 GiB of cache in all, 10.0 of it on each GPU."""
    answer = ask(
        "meta-llama/Llama-3.1-70B-Instruct",
        {"weights": "awq_int4", "context_tokens": 8192, "concurrency": 8},
        [{"card": "a100-sxm-80", "count": 2, "layout": {"tensor": 2}}],
    )
    assert gib(answer.need.weights_bytes) == pytest.approx(37.04, abs=0.02)
    assert gib(answer.need.kv_cache_bytes) == 20.0
    assert gib(answer.placements[0].per_gpu.kv_cache_bytes) == 10.0


@pytest.mark.parametrize(("tensor", "logged"), [(1, 61.03), (2, 30.59)])
def test_qwen3_32b_loads_what_vllm_logs(tensor: int, logged: float) -> None:
    """“Model loading took 61.03 GiB” on one H100, 30.59 on each of two (vLLM 0.11, llm-d-planner's table).

    Half of the matrices are 30.52; the rest is what loading itself held at its peak, which no formula gives.
    """
    answer = ask("Qwen/Qwen3-32B", {}, [{"card": "h100-sxm-80", "count": tensor}])
    reserves = answer.placements[0].engine_reserves
    assert isinstance(reserves, VllmReserves)
    assert gib(reserves.model_bytes) == pytest.approx(logged, rel=0.003)


def test_fp8_dynamic_leaves_embeddings_and_head_in_16_bits() -> None:
    """Llama-3.3-70B-Instruct-FP8-dynamic: 67.72 GiB, not the 65.7 of one byte per parameter."""
    answer = ask("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic")
    assert gib(answer.need.weights_bytes) == pytest.approx(67.72, abs=0.07)


def test_13b_in_16_bits_does_not_fit_a_4090_and_8_bits_do() -> None:
    """24.24 GiB of weights are more than the card has; the first way out names an 8-bit format."""
    answer = ask("llama 2 13b", {"context_tokens": 4096, "concurrency": 1}, ["rtx-4090"])
    assert gib(answer.need.weights_bytes) == 24.24
    (placement,) = answer.placements
    assert placement.verdict is Verdict.DOES_NOT_FIT
    assert placement.headroom_bytes < 0
    values = {change.value for way in placement.ways_to_fit for change in way.changes}
    assert values & {"int8", "fp8"}
    assert all(way.message and way.verdict in GOOD for way in placement.ways_to_fit)


def test_mistral_7b_in_16_bits_fits_a_4090() -> None:
    """The guides' “usually fine”, for one request of 8,192 tokens."""
    answer = ask("mistral 7b", {"context_tokens": 8192, "concurrency": 1}, ["rtx-4090"])
    assert answer.placements[0].verdict in GOOD


def test_a_raw_config_is_read_like_the_catalogue() -> None:
    """The keys of Llama-3.1-8B's own configuration give the catalogue's figures."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "max_position_embeddings": 131072,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": 128256,
    }
    own, known = ask({"kind": "config", "config": config}), ask(LLAMA)
    assert own.need == known.need
    assert [each.verdict for each in own.placements] == [each.verdict for each in known.placements]


def test_a_bare_size_is_a_rule_of_thumb() -> None:
    """7B stands for its reference model, with a wide band, a notice, and the question which model it is."""
    answer = ask("7B", {"context_tokens": 8192, "concurrency": 1}, ["rtx-4090"])
    total = answer.placements[0].per_gpu.total
    assert total.basis == "rule_of_thumb"
    assert total.low_bytes < total.expected_bytes < total.high_bytes
    assert answer.ask_next is not None
    assert answer.ask_next.pointer == "/model"
    assert "typical_model" in {notice.code for notice in answer.notices}
    assert answer.rule_of_thumb_bytes == 2 * answer.model.parameters


def test_context_beyond_the_model_is_answered_with_a_notice() -> None:
    """Nobody is refused for asking more than the model was made for; they are told."""
    answer = ask("llama 2 13b", {"context_tokens": 16384}, ["a100-sxm-80"])
    assert [notice.code for notice in answer.notices] == ["context_beyond_model"]
    assert "4,096" in answer.notices[0].message


def test_every_default_is_said() -> None:
    """What was left out of the request stands under assumptions, in words."""
    answer = ask(LLAMA)
    assumed = {assumption.pointer for assumption in answer.assumptions}
    assert {
        "/workload/engine",
        "/workload/context_tokens",
        "/workload/concurrency",
        "/workload/mean_tokens_per_request",
        "/workload/weights",
        "/workload/kv_cache",
        "/cards",
        "/priced_on",
    } <= assumed
    assert all(assumption.message for assumption in answer.assumptions)


@pytest.mark.parametrize(("language", "word"), [("en", "weights"), ("es", "pesos"), ("zh", "权重")])
def test_it_speaks_three_languages(language: str, word: str) -> None:
    """The field `language` decides."""
    assert word in ask(LLAMA, language=language).summary


def test_parts_add_up_to_the_total() -> None:
    """Components are integers whose sum is the expected total, on every placement."""
    answer = ask("deepseek v3", {"concurrency": 4}, [{"card": "h200-sxm", "count": 8}, {"card": "b200", "count": 8}])
    for placement in answer.placements:
        per = placement.per_gpu
        parts = (per.weights_bytes, per.kv_cache_bytes, per.recurrent_state_bytes, per.activations_bytes)
        assert sum(parts) + per.overhead_bytes == per.total.expected_bytes


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"model": "lama 9 8b"}, FaultCode.UNKNOWN_MODEL, "/model"),
        ({"model": "llama 70b"}, FaultCode.AMBIGUOUS_MODEL, "/model"),
        ({"model": LLAMA, "cards": ["rtx-9090"]}, FaultCode.UNKNOWN_CARD, "/cards/0"),
        ({"model": LLAMA, "cards": ["h100"]}, FaultCode.AMBIGUOUS_CARD, "/cards/0"),
        (
            {"model": LLAMA, "cards": [{"card": "rtx-4090", "count": 3, "layout": {"tensor": 3}}]},
            FaultCode.HEADS_NOT_DIVISIBLE,
            "/cards/0/layout/tensor",
        ),
        (
            {"model": LLAMA, "cards": [{"card": "rtx-4090", "count": 3}]},
            FaultCode.HEADS_NOT_DIVISIBLE,
            "/cards/0/count",
        ),
        ({"model": "BAAI/bge-m3"}, FaultCode.WRONG_KIND_OF_MODEL, "/model"),
        ({"model": "openai/whisper-large-v3"}, FaultCode.WRONG_KIND_OF_MODEL, "/model"),
        (
            {
                "model": LLAMA,
                "workload": {"kind": "inference", "engine": {"kind": "vllm", "args": "vllm serve Qwen/Qwen3-8B"}},
            },
            FaultCode.CONFLICTS_WITH,
            "/workload/engine/args",
        ),
        (
            {"model": LLAMA, "cards": [{"card": "rtx-4090", "mig": "1g.10gb"}]},
            FaultCode.MIG_NOT_SUPPORTED,
            "/cards/0/mig",
        ),
        (
            {"model": LLAMA, "cards": ["l4", {"card": "l4", "count": 2, "layout": {"tensor": 4}}]},
            FaultCode.LAYOUT_NOT_COUNT,
            "/cards/1/layout",
        ),
        (
            {"model": LLAMA, "workload": {"kind": "inference", "context_tokens": 10, "mean_tokens_per_request": 11}},
            FaultCode.MEAN_BEYOND_CONTEXT,
            "/workload/mean_tokens_per_request",
        ),
        (
            {"model": {"kind": "config", "config": {"model_type": "no-such-type", "hidden_size": 8}}},
            FaultCode.UNKNOWN_ARCHITECTURE,
            "/model/config/model_type",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_where_it_is_wrong(
    body: dict[str, Any], code: FaultCode, pointer: str
) -> None:
    """The pointer leads to the field, and the code says why."""
    request = msgspec.convert(body, EstimateRequest)
    with pytest.raises(Invalid) as refused:
        estimate_vram(bundled(), request, Language.EN, TODAY)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (code, pointer)


def test_the_same_request_gives_the_same_bytes() -> None:
    """Nothing in an answer depends on when or how often it is asked."""
    body = {"priced_on": "2026-11-01"}
    first, second = (msgspec.json.encode(ask(LLAMA, {"concurrency": 3}, None, **body)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("language", "word"), [("en", "divided"), ("es", "dividen"), ("zh", "矩阵")])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm", "transformers", "llama_cpp", "ollama"])
def test_a_reckoning_is_given_on_request_in_words_too(engine: str, language: str, word: str) -> None:
    """Each line says its rule, its numbers and the file of the engine that has it."""
    cards = [{"card": "h100-sxm-80", "count": 2}]
    answer = ask(LLAMA, {"engine": {"kind": engine}}, cards, explain=True, language=language)
    lines = answer.placements[0].explanation or ()
    assert len(lines) > 4
    assert all(line.message and line.source.file for line in lines)
    assert any(word in line.message for line in lines) == (engine in {"vllm", "sglang", "tensorrt_llm"})
    assert ask(LLAMA, {}, cards).placements[0].explanation is None


def test_neighbours_and_drafters_are_named_like_any_model() -> None:
    """By a loose name; an unknown one is refused where it stands."""
    alone = ask(LLAMA, {"context_tokens": 8192}, ["h100-sxm-80"]).placements[0]
    beside = ask(LLAMA, {"context_tokens": 8192, "also_resident": [{"model": "qwen3 8b"}]}, ["h100-sxm-80"])
    assert beside.placements[0].budget_bytes < alone.budget_bytes - 16 * GIB
    assert any("qwen3 8b" in notice.message for notice in beside.placements[0].notices)
    drafted = {"method": "draft_model", "model": "qwen3 0.6b", "tokens": 4}
    both = ask(LLAMA, {"context_tokens": 8192, "speculative": drafted}, ["h100-sxm-80"]).placements[0]
    assert both.per_gpu.weights_bytes > alone.per_gpu.weights_bytes + GIB
    with pytest.raises(Invalid) as refused:
        ask(LLAMA, {"also_resident": [{"model": "no such model at all"}]})
    assert refused.value.faults[0].pointer == "/workload/also_resident/0/model"


def test_a_tight_job_says_that_requests_wait() -> None:
    """A 7B model with a million tokens on four cards is tight, and of 2,000 requests one runs."""
    workload = {"context_tokens": 1_000_000, "concurrency": 2000}
    found = ask("7B", workload, [{"card": "rtx-5090", "count": 4}]).placements[0]
    assert found.verdict is Verdict.TIGHT
    waiting = [each.params for each in found.notices if each.code == "requests_wait"]
    assert waiting == [{"max_concurrency": found.max_concurrency, "concurrency": 2000}]
    assert found.max_concurrency < 10
