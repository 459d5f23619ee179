"""Requests about engines that contradict themselves are refused where they do."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.overrides import TensorOverride
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.memory.architectures import LLAMA_8B
from tests.engine.memory.test_right_values import BF16, estimate


@pytest.mark.parametrize(
    ("engine", "code", "pointer"),
    [
        (Vllm(max_model_len=100), FaultCode.CONTRADICTION, "/workload/engine/max_model_len"),
        (Sglang(context_length=100), FaultCode.CONTRADICTION, "/workload/engine/context_length"),
        (Vllm(version="0.0.1"), FaultCode.ENGINE_VERSION_UNKNOWN, "/workload/engine/version"),
        (LlamaCpp(version="b100"), FaultCode.ENGINE_VERSION_UNKNOWN, "/workload/engine/version"),
        (LlamaCpp(args="vllm serve org/model"), FaultCode.NOT_WITH_ENGINE, "/workload/engine/args"),
        (Vllm(args="llama-server -m x.gguf"), FaultCode.NOT_WITH_ENGINE, "/workload/engine/args"),
        (Vllm(args="--quantization awq"), FaultCode.ARGUMENT_WRONG_VALUE, "/workload/engine/args"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_said(engine: AnyEngine, code: FaultCode, pointer: str) -> None:
    """Lengths below the request, versions before the first, another program, AWQ of 16-bit weights."""
    with pytest.raises(Invalid) as invalid:
        estimate(LLAMA_8B, BF16, Inference(engine=engine, context_tokens=8192), "h100-sxm-80")
    assert (invalid.value.faults[0].code, invalid.value.faults[0].pointer) == (code, pointer)


def test_a_version_of_the_future_is_counted_as_the_newest_that_is_known() -> None:
    """And the answer says so."""
    new, known = (
        estimate(LLAMA_8B, BF16, Inference(engine=engine, context_tokens=8192), "h100-sxm-80")
        for engine in (Vllm(version="99.0"), Vllm())
    )
    assert NoticeCode.VERSION_NEWER in {notice.code for notice in new.notices}
    assert new.placements[0].per_gpu == known.placements[0].per_gpu


def test_every_layer_kept_in_ram_is_an_offload() -> None:
    """`-ot .*=CPU` keeps all layers' matrices in RAM: no better than tight, and slower."""
    engine = LlamaCpp(override_tensors=(TensorOverride(pattern=".*"),))
    placement = estimate(LLAMA_8B, BF16, Inference(engine=engine, context_tokens=8192), "h100-sxm-80").placements[0]
    assert placement.verdict is Verdict.TIGHT
    assert NoticeCode.OFFLOAD in {notice.code for notice in placement.notices}
