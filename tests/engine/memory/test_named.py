"""Further models of a workload: those that draft, and those that share the cards."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference, Resident
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.speculation import Speculative, SpeculativeMethod
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, plain
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.memory.architectures import (
    H100,
    LLAMA_8B,
    LLAMA_70B,
    MISTRAL_7B,
    QWEN2_5_1_5B,
    RTX_4090,
    placement,
)

KNOWN = {"org/small": QWEN2_5_1_5B, "org/mistral": MISTRAL_7B}


def find(name: str) -> tuple[Architecture, Checkpoint]:
    """The two models that these tests know."""
    if name not in KNOWN:
        raise refusal(FaultCode.UNKNOWN_MODEL, "/model", name=name)
    return KNOWN[name], plain()


def placed(model: Architecture, workload: Inference, where: Placement) -> PlacementEstimate:
    """The estimate on one placement."""
    return estimate_serving(model, plain(), workload, (where,), calibration().serving, find=find).placements[0]


def drafted(name: str | None, method: SpeculativeMethod = SpeculativeMethod.DRAFT_MODEL) -> Inference:
    """Eight thousand tokens, drafted for."""
    return Inference(context_tokens=8192, speculative=Speculative(method=method, tokens=4, model=name))


@pytest.mark.parametrize("engine", [Vllm(), Sglang()])
def test_a_draft_model_lies_beside_the_model_with_its_own_cache(engine: AnyEngine) -> None:
    """Qwen2.5-1.5B in 16 bits, 28 layers of 2 heads of 128: 28 KiB a token."""
    alone = placed(LLAMA_8B, Inference(engine=engine, context_tokens=8192), placement(H100))
    speculative = Speculative(method=SpeculativeMethod.DRAFT_MODEL, tokens=4, model="org/small")
    both = placed(LLAMA_8B, Inference(engine=engine, context_tokens=8192, speculative=speculative), placement(H100))
    more = both.per_gpu.weights_bytes - alone.per_gpu.weights_bytes
    assert more == pytest.approx(2 * parameters(QWEN2_5_1_5B).total, rel=0.001)
    cached = both.per_gpu.kv_cache_bytes - alone.per_gpu.kv_cache_bytes
    assert cached == pytest.approx(8192 * 28 * 1024, rel=0.01)


def test_a_draft_model_must_be_named_and_known() -> None:
    """Otherwise nothing can be reckoned; heads of a usual shape can."""
    with pytest.raises(Invalid) as missing:
        placed(LLAMA_8B, drafted(None), placement(H100))
    assert (missing.value.faults[0].code, missing.value.faults[0].pointer) == (
        FaultCode.NEEDS_FIELD,
        "/workload/speculative",
    )
    with pytest.raises(Invalid) as unknown:
        placed(LLAMA_8B, drafted("org/else"), placement(H100))
    assert unknown.value.faults[0].pointer == "/workload/speculative/model"
    head = placed(LLAMA_8B, drafted("org/eagle", SpeculativeMethod.EAGLE3), placement(H100))
    assert head.per_gpu.total.basis.value == "rule_of_thumb"


def test_a_neighbour_counts_as_occupied() -> None:
    """Mistral-7B on the same card: its 13.5 GiB of weights, a cache of 4,096 tokens, a context of its own."""
    resident = Resident(model="org/mistral", context_tokens=4096)
    alone = placed(LLAMA_8B, Inference(context_tokens=8192), placement(H100))
    beside = placed(LLAMA_8B, Inference(context_tokens=8192, also_resident=(resident,)), placement(H100))
    own = placed(MISTRAL_7B, Inference(context_tokens=4096), placement(H100)).per_gpu.total.expected_bytes
    assert alone.budget_bytes - beside.budget_bytes == own
    notice = next(each for each in beside.notices if each.code is NoticeCode.RESIDENTS_TAKE)
    assert notice.params == {"models": ["org/mistral"], "resident_bytes": own}
    assert "--gpu-memory-utilization" in (beside.command or "")


@pytest.mark.parametrize("engine", [Vllm(), LlamaCpp()])
def test_two_models_that_fit_alone_may_not_fit_together(engine: AnyEngine) -> None:
    """Llama-8B and Mistral-7B in 16 bits on one 4090."""
    alone = Inference(engine=engine, context_tokens=4096)
    both = Inference(engine=engine, context_tokens=4096, also_resident=(Resident(model="org/mistral"),))
    assert placed(LLAMA_8B, alone, placement(RTX_4090)).verdict is not Verdict.DOES_NOT_FIT
    assert placed(LLAMA_8B, both, placement(RTX_4090)).verdict is Verdict.DOES_NOT_FIT


def test_faults_of_a_neighbour_point_at_it() -> None:
    """Its name and its lengths."""
    unknown = Inference(also_resident=(Resident(model="org/mistral"), Resident(model="org/else")))
    with pytest.raises(Invalid) as wrong:
        placed(LLAMA_8B, unknown, placement(H100))
    assert wrong.value.faults[0].pointer == "/workload/also_resident/1/model"
    long = Inference(also_resident=(Resident(model="org/mistral", context_tokens=10, mean_tokens_per_request=11),))
    with pytest.raises(Invalid) as wrong:
        placed(LLAMA_8B, long, placement(H100))
    assert wrong.value.faults[0].pointer == "/workload/also_resident/0/mean_tokens_per_request"


def test_ways_to_fit_count_the_neighbour_too() -> None:
    """On two cards it is split as well."""
    workload = Inference(context_tokens=8192, also_resident=(Resident(model="org/mistral"),))
    found = estimate_serving(
        LLAMA_70B,
        plain(),
        workload,
        (placement(H100, "h100-sxm-80"),),
        calibration().serving,
        alternatives=(placement(139.8, "h200-sxm"),),
        find=find,
    ).placements[0]
    cards = next(way for way in found.ways_to_fit if way.changes[0].pointer.endswith("/count"))
    assert cards.verdict in {Verdict.COMFORTABLE, Verdict.FITS}
