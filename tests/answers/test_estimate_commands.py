"""POST /estimate-vram: what to start, and what to change, for models and logs as people name and paste them."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import FaultCode, Invalid
from tests.answers.test_estimate import LLAMA, ask


def test_an_out_of_memory_error_of_a_stated_engine_is_answered_with_what_would_fix_it() -> None:
    """What PyTorch's error calls taken is the job's own; Qwen3-14B at 29.5 GB cannot be on a 4090, but can be fixed."""
    log = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "23.64 GiB of which 1.50 GiB is free."
    )
    answer = ask("Qwen/Qwen3-14B", {"engine": {"kind": "vllm"}, "engine_log": log}, ["rtx-4090"])
    assert answer.placements[0].verdict is Verdict.DOES_NOT_FIT
    assert answer.engine_log is not None
    assert answer.engine_log.engine == "vllm"
    assert answer.engine_log.fixes


@pytest.mark.parametrize(
    ("model", "repository"),
    [
        ("Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B-AWQ"),
        ("TheBloke/Llama-2-13B-chat-AWQ", "TheBloke/Llama-2-13B-chat-AWQ"),
        ("unsloth/Llama-3.1-8B-Instruct", "unsloth/Llama-3.1-8B-Instruct"),
        ("qwen3 32b", "Qwen/Qwen3-32B"),
    ],
)
def test_the_command_starts_the_repository_that_was_judged(model: str, repository: str) -> None:
    """Whoever names a quantised copy gets the command for that copy, not for the model that it was made from."""
    command = ask(model, {}, ["h100-sxm-80"]).placements[0].command
    assert command is not None
    assert command.split()[:3] == ["vllm", "serve", repository]


def test_a_format_without_a_repository_has_no_command() -> None:
    """“qwen3 32b awq” says a format and no repository: none is made up."""
    placement = ask("qwen3 32b awq", {}, ["h100-sxm-80"]).placements[0]
    assert placement.command is None
    assert "checkpoint_needed" in {notice.code.value for notice in placement.notices}


def test_a_repository_of_gguf_files_is_named_with_the_type() -> None:
    """llama-server fetches `-hf repository:type` by itself."""
    workload = {"engine": {"kind": "llama_cpp"}}
    command = ask("bartowski/Qwen_Qwen3-32B-GGUF", workload, ["h100-sxm-80"]).placements[0].command
    assert command is not None
    assert command.startswith("llama-server -hf bartowski/Qwen_Qwen3-32B-GGUF:Q4_K_M ")


def test_the_machine_that_holds_the_largest_models_is_named() -> None:
    """DeepSeek-R1 holds 671 GB in fp8: more than eight H100s, within one machine of larger cards."""
    ways = ask("deepseek-ai/DeepSeek-R1", {}, ["h100-sxm-80"]).placements[0].ways_to_fit
    assert ways
    assert {change.pointer for change in ways[0].changes} == {"/cards/0/card", "/cards/0/count"}


@pytest.mark.parametrize(("weights", "near"), [("gguf:FOO", "gguf:Q4_K_M"), ("gguf:Q4KM", "gguf:Q4_K_M")])
def test_a_gguf_type_that_does_not_exist_is_pointed_at(weights: str, near: str) -> None:
    """The fault points at the field and suggests types that do exist."""
    with pytest.raises(Invalid) as refused:
        ask(LLAMA, {"weights": weights})
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.WRONG_VALUE, "/workload/weights")
    assert near in fault.suggestions
