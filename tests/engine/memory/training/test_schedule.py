"""Examples and epochs become steps and tokens."""

from __future__ import annotations

from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.schedule import schedule
from cardmatch.engine.memory.training.workload import Sharding
from tests.engine.memory.training.shapes import LLAMA_3_2_3B, job

DATA = {"examples": 51_760, "mean_tokens_per_example": 256, "epochs": 3}


def test_alpaca_takes_a_known_number_of_steps() -> None:
    """51,760 examples three times, 4 × 8 sequences a step on two GPUs: 2,427 steps (rounded up)."""
    trained = job(LLAMA_3_2_3B, "lora", micro_batch=4, gradient_accumulation_steps=8, packing=False, data=DATA)
    found = schedule(trained, Mesh(data=2, sharding=Sharding.DDP, shards=2))
    assert (found.sequences_per_step, found.steps) == (64, 2427)
    assert found.train_tokens == 51_760 * 256 * 3


def test_packing_fills_every_sequence() -> None:
    """Eight examples of 256 tokens share a sequence of 2048, so there are an eighth of the steps."""
    trained = job(LLAMA_3_2_3B, "lora", packing=True, sequence_tokens=2048, data=DATA)
    found = schedule(trained, Mesh())
    assert (found.steps, found.tokens_per_step) == (51_760 * 3 // 8, 2048)


def test_longer_examples_are_cut() -> None:
    """Without packing an example longer than the sequence loses its end."""
    trained = job(LLAMA_3_2_3B, "lora", packing=False, sequence_tokens=128, data=DATA)
    assert schedule(trained, Mesh()).train_tokens == 51_760 * 128 * 3


def test_context_ranks_share_a_sequence() -> None:
    """Eight GPUs of which four share each sequence are two replicas."""
    trained = job(LLAMA_3_2_3B, "full", context_parallel=4)
    found = schedule(trained, Mesh(data=8, context=4, sharding=Sharding.FSDP, shards=8))
    assert (found.sequences_per_step, found.steps) == (2, None)


def test_a_vanishing_share_of_an_epoch_is_a_step() -> None:
    """A share so small that its product rounds to nothing still takes one step of one token."""
    found = schedule(
        job(LLAMA_3_2_3B, "full", data={"examples": 1, "mean_tokens_per_example": 1, "epochs": 5e-324}), Mesh()
    )
    assert (found.steps, found.train_tokens) == (1, 1)
