"""Requests that contradict themselves are refused, with a pointer and what would be right."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.training.checks import check
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.memory.architectures import LLAMA_8B
from tests.engine.memory.training.shapes import A100_80, on, workload

KNOWN = calibration().training
REFUSED: list[tuple[str, dict[str, Any], FaultCode, str]] = [
    ("full", {"weights": "nf4"}, FaultCode.QUANTISED_WEIGHTS_NOT_TRAINABLE, "/workload/weights"),
    ("full", {"weights": "fp32", "precision": "bf16"}, FaultCode.CONTRADICTION, "/workload/precision"),
    ("full", {"weights": "bf16", "precision": "mixed_bf16"}, FaultCode.CONTRADICTION, "/workload/precision"),
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


@pytest.mark.parametrize(
    ("fields", "count", "pointer"),
    [
        ({"sharding": "hsdp", "shard_group": 3}, 8, "/workload/shard_group"),
        ({"sharding": "hsdp", "shard_group": 16}, 8, "/workload/shard_group"),
        ({"optimizer_in_backward": True, "gradient_accumulation_steps": 2}, 1, "/workload/gradient_accumulation_steps"),
    ],
)
def test_what_no_trainer_can_do_is_refused(fields: dict[str, Any], count: int, pointer: str) -> None:
    """Groups come out even; gradients that are gone once used do not wait for further micro-batches."""
    with pytest.raises(Invalid) as refused:
        estimate_training(LLAMA_8B, plain(), workload("full", **fields), (on(A100_80, count),), KNOWN)
    assert refused.value.faults[0].pointer == pointer


def test_states_are_not_shared_over_slices() -> None:
    """NCCL joins no MIG slices."""
    where = on(replace(A100_80, mig="3g.40gb"), 2)
    with pytest.raises(Invalid) as refused:
        estimate_training(LLAMA_8B, plain(), workload("lora"), (where,), KNOWN)
    assert refused.value.faults[0].pointer == "/cards/0/count"


def test_old_cards_are_told_what_they_lack() -> None:
    """A T4 (compute capability 7.5) has neither BF16 arithmetic nor FlashAttention-2."""
    old = on(replace(A100_80, card="t4", compute_capability="7.5"))
    found = estimate_training(LLAMA_8B, plain(), workload("lora"), (old,), KNOWN).placements[0].notices
    assert {NoticeCode.PRECISION_NOT_NATIVE, NoticeCode.FLASH_NOT_ON_CARD} <= {each.code for each in found}
