"""What llama.cpp keeps in RAM to fit: experts first, then layers."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.answer import WayToFit
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.engines.test_llama_cpp import MIXTURE
from tests.engine.memory.test_right_values import estimate


def first_way(engine: AnyEngine, card: str, weights: str = "gguf:Q6_K", tensor: int = 1) -> WayToFit:
    """The first way to fit Qwen3-30B-A3B."""
    workload = Inference(engine=engine, context_tokens=8192, weights=weights)
    return estimate(MIXTURE, plain(), workload, card, tensor=tensor, ways=True).placements[0].ways_to_fit[0]


@pytest.mark.parametrize(("card", "fewest", "most"), [("rtx-4090", 1, 16), ("rtx-4080", 17, 40)])
def test_experts_of_as_few_layers_as_needed_leave_the_gpu(card: str, fewest: int, most: int) -> None:
    """Six bits of Qwen3-30B-A3B are 23.4 GiB: a few layers' experts are too many for 24 GB, about half for 16 GB."""
    way = first_way(LlamaCpp(), card)
    assert [change.pointer for change in way.changes] == ["/workload/engine/n_cpu_moe"]
    assert fewest <= int(way.changes[0].value or 0) <= most
    assert way.verdict is Verdict.TIGHT


def test_the_way_is_the_answer_to_the_changed_request() -> None:
    """Asked with that many layers' experts in RAM, the job is tight with the same headroom."""
    way = first_way(LlamaCpp(), "rtx-4080")
    engine = LlamaCpp(n_cpu_moe=int(way.changes[0].value or 0))
    workload = Inference(engine=engine, context_tokens=8192, weights="gguf:Q6_K")
    again = estimate(MIXTURE, plain(), workload, "rtx-4080").placements[0]
    assert (again.verdict, again.headroom_bytes) == (way.verdict, way.headroom_bytes)


@pytest.mark.parametrize(
    ("engine", "pointer"), [(Ollama(), "/workload/engine/num_gpu"), (LmStudio(), "/workload/engine/experts_on_host")]
)
def test_each_engine_has_a_switch_of_its_own(engine: AnyEngine, pointer: str) -> None:
    """Ollama only counts layers; LM Studio moves all experts or none."""
    assert [change.pointer for change in first_way(engine, "rtx-4080").changes] == [pointer]


def test_over_several_cards_all_experts_go() -> None:
    """The first layers lie on the first card, so moving theirs would not help the others."""
    way = first_way(LlamaCpp(), "rtx-4080", weights="bf16", tensor=2)
    assert [change.pointer for change in way.changes] == ["/workload/engine/experts_on_host"]
