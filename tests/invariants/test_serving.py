"""Whatever engine is asked: every way to fit is answered as promised, and the most that it holds it holds."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cardmatch.engine.terms.fault import Invalid
from tests.invariants.changed import WORLD, ask, follow_ways

GIB = 1 << 30
MODELS = sorted(WORLD.models)
ENGINES = ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "ollama", "lm_studio", "transformers"]
EXAMPLES = settings(max_examples=150, deadline=None)

cards = st.one_of(
    st.fixed_dictionaries(
        {"card": st.sampled_from(["t4", "rtx-4090", "rtx-5090", "a100-sxm-80", "h100-sxm-80", "h200-sxm", "mi300x"])},
        optional={"occupied_bytes": st.just(2 * GIB), "count": st.sampled_from([2, 4, 8])},
    ),
    st.floats(8, 200).map(lambda gib: {"card": {"memory_bytes": int(gib * GIB)}}),
)
workloads = st.fixed_dictionaries(
    {"kind": st.just("inference")},
    optional={
        "context_tokens": st.sampled_from([512, 1024, 2048, 4096, 32_768, 1_000_000]),
        "concurrency": st.sampled_from([1, 2, 7, 64, 300]),
        "mean_tokens_per_request": st.sampled_from([200, 512]),
    },
)


def _body(model: str, engine: str, workload: dict[str, Any], card: dict[str, Any]) -> dict[str, Any]:
    body = {"model": model, "workload": {**workload, "engine": {"kind": engine}}, "cards": [card]}
    try:
        ask({**body, "ways_to_fit": False})
    except Invalid:
        assume(False)
    return body


@EXAMPLES
@given(st.sampled_from(MODELS), st.sampled_from(ENGINES), workloads, cards)
def test_ways_to_fit_are_answered_as_promised(
    model: str, engine: str, workload: dict[str, Any], card: dict[str, Any]
) -> None:
    """No way leads to a refusal, and each to its verdict and room."""
    follow_ways(_body(model, engine, workload, card))


@EXAMPLES
@given(st.sampled_from(MODELS), st.sampled_from(ENGINES), workloads, cards)
def test_the_most_at_once_run_at_once(model: str, engine: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Asked for max_concurrency requests, nothing waits."""
    body = _body(model, engine, workload, card)
    most = ask({**body, "ways_to_fit": False})["placements"][0]["max_concurrency"]
    assume(0 < most <= 65_536)
    again = {**body, "workload": {**body["workload"], "concurrency": most}, "ways_to_fit": False}
    found = ask(again)["placements"][0]
    assert found["verdict"] not in {"queues", "does_not_fit"}, (most, found["verdict"], found["max_concurrency"])


@EXAMPLES
@given(st.sampled_from(MODELS), st.sampled_from(ENGINES), workloads, cards)
def test_the_longest_request_runs(model: str, engine: str, workload: dict[str, Any], card: dict[str, Any]) -> None:
    """Asked for one request of max_context_tokens, it runs."""
    body = _body(model, engine, workload, card)
    longest = ask({**body, "ways_to_fit": False})["placements"][0]["max_context_tokens"]
    assume(longest > 0)
    alone = {"kind": "inference", "engine": {"kind": engine}, "context_tokens": longest, "concurrency": 1}
    found = ask({**body, "workload": alone, "ways_to_fit": False})["placements"][0]
    assert found["verdict"] != "does_not_fit", (longest, found["headroom_bytes"], found["max_context_tokens"])
