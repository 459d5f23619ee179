"""Requests that contradict themselves are refused, with a pointer and what would be right."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.memory.training.checks import check
from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.fault import FaultCode, Invalid
from tests.engine.memory.training.shapes import A100_80, on, workload

REFUSED: list[tuple[str, dict[str, Any], FaultCode, str]] = [
    ("full", {"weights": "nf4"}, FaultCode.QUANTISED_WEIGHTS_NOT_TRAINABLE, "/workload/weights"),
    ("full", {"lora": {"rank": 8}}, FaultCode.LORA_WITHOUT_LORA_METHOD, "/workload/lora"),
    ("qlora", {"weights": "bf16"}, FaultCode.WRONG_VALUE, "/workload/weights"),
    ("qlora", {"weights": "gguf:Q4_K_M"}, FaultCode.WRONG_VALUE, "/workload/weights"),
    ("lora", {"upcast_embeddings": True}, FaultCode.CONTRADICTION, "/workload/method"),
    ("full", {"shard_group": 8, "sharding": "fsdp"}, FaultCode.CONTRADICTION, "/workload/sharding"),
    (
        "full",
        {"offload": ["optimizer"], "optimizer_in_backward": True},
        FaultCode.CONFLICTS_WITH,
        "/workload/optimizer_in_backward",
    ),
]


@pytest.mark.parametrize(("method", "fields", "code", "pointer"), REFUSED)
def test_contradictions_are_refused(method: str, fields: dict[str, Any], code: FaultCode, pointer: str) -> None:
    """One fault each, at the field that is wrong."""
    with pytest.raises(Invalid) as caught:
        check(workload(method, **fields), plain())
    assert [(fault.code, fault.pointer) for fault in caught.value.faults] == [(code, pointer)]


@pytest.mark.parametrize("sharding", ["ddp", "zero1", "zero2", "zero3", "fsdp"])
def test_one_card_is_not_sharded(sharding: str) -> None:
    """`none` is what would be right."""
    with pytest.raises(Invalid) as caught:
        mesh(workload("full", sharding=sharding), Sharding.FSDP, on(A100_80))
    fault = caught.value.faults[0]
    assert (fault.code, fault.suggestions) == (FaultCode.SHARDING_ON_ONE_CARD, ("none",))


def test_context_ranks_divide_the_data_ranks() -> None:
    """Three ranks cannot share the sequences of eight GPUs."""
    with pytest.raises(Invalid) as caught:
        mesh(workload("full", context_parallel=3), Sharding.FSDP, on(A100_80, 8))
    assert caught.value.faults[0].code is FaultCode.NOT_DIVISIBLE


def test_several_faults_are_told_together() -> None:
    """Whoever repairs a request should not have to send it twice."""
    with pytest.raises(Invalid) as caught:
        check(workload("full", weights="nf4", lora={"rank": 8}), plain())
    assert len(caught.value.faults) == 2
