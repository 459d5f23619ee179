"""How GPUs become ranks."""

from __future__ import annotations

from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.workload import Sharding
from tests.engine.memory.training.shapes import A100_80, on, workload


def test_one_card_shards_nothing() -> None:
    """The documented default: none on one card."""
    assert mesh(workload("full"), Sharding.FSDP, on(A100_80)).sharding is Sharding.NONE


def test_several_cards_shard_fully() -> None:
    """The documented default: FSDP over all of them."""
    spread = mesh(workload("full"), Sharding.FSDP, on(A100_80, 8))
    assert (spread.sharding, spread.weight_shards, spread.optimizer_shards) == (Sharding.FSDP, 8, 8)


def test_tensor_and_pipeline_ranks_leave_the_rest_to_data() -> None:
    """Sixteen GPUs, four by tensor and two by pipeline: two replicas."""
    spread = mesh(workload("full"), Sharding.FSDP, on(A100_80, 16, tensor=4, pipeline=2, data=2))
    assert (spread.tensor, spread.pipeline, spread.data, spread.gpus) == (4, 2, 2, 16)


def test_hybrid_sharding_divides_within_a_group() -> None:
    """HSDP over 32 GPUs in groups of eight: an eighth of the weights on each."""
    spread = mesh(workload("full", sharding="hsdp"), Sharding.FSDP, on(A100_80, 32))
    assert spread.weight_shards == 8


def test_zero_2_keeps_whole_weights() -> None:
    """Gradients and states are divided, weights are not."""
    spread = mesh(workload("full", sharding="zero2"), Sharding.FSDP, on(A100_80, 8))
    assert (spread.weight_shards, spread.gradient_shards, spread.optimizer_shards) == (1, 8, 8)
