"""What an estimate says beside its figures: assumed lengths, other processes, slow links, weights in RAM."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.estimate import ServingEstimate, estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.engine.terms.units import GIB
from tests.engine.memory.architectures import A100_80, H100, LLAMA_8B, LLAMA_70B, RTX_4090, device, placement


def estimate(model: Architecture, workload: Inference, where: Placement) -> ServingEstimate:
    """*workload* on one placement."""
    return estimate_serving(model, plain(), workload, (where,), calibration().serving, model="org/model")


def placed(model: Architecture, workload: Inference, where: Placement) -> PlacementEstimate:
    """The estimate of the one placement."""
    return estimate(model, workload, where).placements[0]


def codes(found: PlacementEstimate) -> set[NoticeCode]:
    """What its notices are about."""
    return {notice.code for notice in found.notices}


def test_a_length_that_was_not_said_is_assumed_and_named() -> None:
    """Context, request count, cache, weights, engine and its maximum length: each default is an assumption."""
    found = estimate(LLAMA_8B, Inference(), placement(H100))
    assumed = {each.pointer: each.value for each in found.assumptions}
    assert assumed["/workload/engine"] == "vllm"
    assert assumed["/workload/engine/max_model_len"] == assumed["/workload/context_tokens"] == 8192
    told = estimate(LLAMA_8B, Inference(engine=Vllm(max_model_len=16384)), placement(H100))
    assert not {each.pointer for each in told.assumptions} & {"/workload/engine", "/workload/engine/max_model_len"}


def test_an_engine_that_was_named_is_no_assumption_even_at_its_defaults() -> None:
    """A request that says vLLM reads like the default and is not one."""
    named = msgspec.json.decode(b'{"kind":"inference","engine":{"kind":"vllm"}}', type=Inference)
    assert "/workload/engine" not in {each.pointer for each in estimate(LLAMA_8B, named, placement(H100)).assumptions}
    silent = msgspec.json.decode(b'{"kind":"inference"}', type=Inference)
    assert "/workload/engine" in {each.pointer for each in estimate(LLAMA_8B, silent, placement(H100)).assumptions}


def test_llama_cpp_is_given_its_whole_context() -> None:
    """Its `-c` is shared by all slots: four requests of 8,192 tokens."""
    found = estimate(LLAMA_8B, Inference(engine=LlamaCpp(), context_tokens=8192, concurrency=4), placement(H100))
    assert {each.pointer: each.value for each in found.assumptions}["/workload/engine/n_ctx"] == 32768


def test_vllm_would_not_start_without_a_maximum_length() -> None:
    """Llama 3.1's own 131,072 tokens take 16 GiB, which a 4090 does not have beside the weights."""
    found = placed(LLAMA_8B, Inference(context_tokens=8192), placement(RTX_4090))
    assert NoticeCode.MAX_LENGTH_NEEDED in codes(found)
    assert "--max-model-len 8192" in (found.command or "")
    assert NoticeCode.MAX_LENGTH_NEEDED not in codes(placed(LLAMA_8B, Inference(context_tokens=8192), placement(H100)))


def test_beside_other_processes_vllm_is_started_with_a_smaller_share() -> None:
    """0.92 of a 4090 must be free at the start; with 4 GiB taken it is not, and the command asks for less.

    Told so, the budget is the one that was judged: the default share less what others hold.
    """
    others = 4 * GIB
    workload = Inference(context_tokens=1024)
    beside = msgspec.structs.replace(placement(RTX_4090), occupied_bytes=others)
    found = placed(LLAMA_8B, workload, beside)
    assert NoticeCode.MEMORY_HELD_BY_OTHERS in codes(found)
    share = float((found.command or "").split("--gpu-memory-utilization ")[1].split()[0])
    budget = share * RTX_4090 * GIB
    assert budget <= RTX_4090 * GIB - others - GIB // 2
    assert budget == pytest.approx(found.budget_bytes, rel=2e-3)
    little = msgspec.structs.replace(placement(RTX_4090), occupied_bytes=GIB)
    assert NoticeCode.MEMORY_HELD_BY_OTHERS not in codes(placed(LLAMA_8B, workload, little))
    before = Inference(engine=Vllm(version="0.8.5"), context_tokens=1024)
    assert NoticeCode.MEMORY_HELD_BY_OTHERS not in codes(placed(LLAMA_8B, before, beside))


@pytest.mark.parametrize("engine", [Vllm(cpu_offload_gb=10), Sglang(cpu_offload_gb=10)])
def test_weights_in_ram_are_tight_at_best_and_slow(engine: Vllm | Sglang) -> None:
    """10 GiB of Llama-8B's 15 cross PCIe at every step: tens of times slower than a 4090's own memory."""
    workload = Inference(engine=engine, context_tokens=8192)
    found = placed(LLAMA_8B, workload, placement(RTX_4090))
    assert found.verdict is Verdict.TIGHT
    assert found.host.ram_bytes == 10 * GIB
    notice = next(each for each in found.notices if each.code is NoticeCode.OFFLOAD)
    low, high = notice.params["times_slower_low"], notice.params["times_slower_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 10 < low < high < 40
    short = msgspec.structs.replace(placement(RTX_4090), host_ram_bytes=8 * GIB)
    assert placed(LLAMA_8B, workload, short).verdict is Verdict.DOES_NOT_FIT
    assert placed(LLAMA_8B, workload, short).bound_by == "host_ram"


def test_each_rank_offloads_its_own_part() -> None:
    """VLLM's cpu_offload_gb is per GPU."""
    workload = Inference(engine=Vllm(cpu_offload_gb=20), context_tokens=4096)
    found = placed(LLAMA_70B, workload, placement(A100_80, layout=Layout(tensor=2)))
    assert found.host.ram_bytes == 40 * GIB


def test_fp8_weights_are_unpacked_on_ampere() -> None:
    """An A100 has no fp8 arithmetic, an H100 has."""
    workload = Inference(context_tokens=8192, weights="fp8")
    ampere, hopper = (
        Placement(device=device(A100_80, "a100-sxm-80", compute_capability="8.0", vendor="nvidia")),
        Placement(device=device(H100, "h100-sxm-80", compute_capability="9.0", vendor="nvidia")),
    )
    assert NoticeCode.FORMAT_NOT_NATIVE in codes(placed(LLAMA_8B, workload, ampere))
    assert NoticeCode.FORMAT_NOT_NATIVE not in codes(placed(LLAMA_8B, workload, hopper))


def test_tensor_parallelism_over_pcie_is_named() -> None:
    """Where the cards have no NVLink."""
    where = placement(RTX_4090, layout=Layout(tensor=2), link=Link.PCIE)
    assert NoticeCode.NO_FAST_LINK in codes(placed(LLAMA_8B, Inference(context_tokens=4096), where))


def test_requests_beyond_the_engines_limit_wait() -> None:
    """Whatever the memory, max_num_seqs is the most that run at once."""
    workload = Inference(engine=Vllm(max_num_seqs=8), context_tokens=512, concurrency=64)
    found = placed(LLAMA_8B, workload, placement(H100))
    assert NoticeCode.REQUESTS_CAPPED in codes(found)
    assert found.max_concurrency == 8


def test_a_request_longer_than_the_engine_takes_is_named() -> None:
    """What a command line says goes before what the workload asks."""
    workload = Inference(engine=Vllm(args="--max-model-len 4096"), context_tokens=8192)
    assert NoticeCode.CONTEXT_BEYOND_SLOT in codes(placed(LLAMA_8B, workload, placement(H100)))
