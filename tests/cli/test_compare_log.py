"""`cardmatch compare-log`: a table beside the log, a row for the truth cases, and an exit status for pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cardmatch.cli import main
from tests.truth.cases import Case, read_cases
from tests.truth.families.llamacpp import LlamaCppFamily
from tests.truth.world import TruthWorld

LLAMA = """
build: 3600 (a07c32ea)
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
llm_load_tensors: offloaded 33/33 layers to GPU
llm_load_tensors:        CPU buffer size =   281.81 MiB
llm_load_tensors:      CUDA0 buffer size =  4403.49 MiB
llama_new_context_with_model: n_ctx      = 8192
llama_new_context_with_model: n_batch    = 512
llama_new_context_with_model: n_ubatch   = 512
llama_new_context_with_model: flash_attn = 0
llama_kv_cache_init:      CUDA0 KV buffer size =  1024.00 MiB
llama_new_context_with_model: KV self size  = 1024.00 MiB, K (f16):  512.00 MiB, V (f16):  512.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   560.00 MiB
llama_new_context_with_model:  CUDA_Host compute buffer size =    24.01 MiB
"""
REFUSED = """
Initializing a V1 LLM engine (v0.15.2) with config: model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=131072
ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is needed, which \
is larger than the available KV cache memory (4.25 GiB). Based on the available memory, the estimated maximum model \
length is 34816.
"""


@pytest.fixture(autouse=True)
def _in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A load of Llama-3.1-8B in Q4_K_M, as Ollama logged it in 2024."""
    path = tmp_path / "load.log"
    path.write_text(LLAMA, encoding="utf-8")
    return path


def test_a_log_as_predicted_passes(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The card is the log's own; every buffer is within ten per cent."""
    status = main(["compare-log", str(log), "--model", "llama 3.1 8b", "--weights", "gguf:Q4_K_M"])
    printed = capsys.readouterr().out
    assert status == 0
    assert "devices/0/compute_bytes" in printed
    assert "load.log: llama.cpp b3600" in printed


def test_another_format_than_the_logs_is_noticed(log: Path) -> None:
    """Weights in eight bits are not those that were loaded."""
    assert main(["compare-log", str(log), "--model", "llama 3.1 8b", "--weights", "gguf:Q8_0"]) == 1


def test_an_error_is_explained_with_what_would_fix_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model is the log's own; the first fix is the length that the engine names."""
    path = tmp_path / "vllm.log"
    path.write_text(REFUSED, encoding="utf-8")
    assert main(["compare-log", str(path), "--card", "rtx-4090", "--json"]) == 1
    reading = json.loads(capsys.readouterr().out)
    assert reading["cause"]["params"]["needed_bytes"] == 16 << 30
    assert "16.00 GiB" in reading["cause"]["message"]
    assert reading["fixes"][0]["changes"] == [{"pointer": "/workload/engine/max_model_len", "value": 34816}]


def test_a_log_becomes_a_case_that_scores(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The row has the schema's fields, and the truth harness compares its figures."""
    arguments = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--weights", "gguf:Q4_K_M", "--card", "rtx-3090"]
    assert main(["compare-log", str(log), *arguments, "--as-case", "--source", "https://example.org/log"]) == 0
    (tmp_path / "llamacpp_memory.jsonl").write_text(capsys.readouterr().out, encoding="utf-8")
    case = read_cases(tmp_path, "llamacpp_memory")[0]
    assert isinstance(case, Case)
    family, world = LlamaCppFamily(), TruthWorld()
    scored = family.score(family.prepare(case, world), world.catalogue.calibration.serving)
    assert {figure.group for figure in scored.figures} >= {"kv", "model (mainline)", "compute (mainline)"}
    assert all(abs(figure.error) < 0.02 for figure in scored.figures)


def test_what_is_no_log_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is named, and nothing is guessed."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing to see", encoding="utf-8")
    assert main(["compare-log", str(path)]) == 2
    assert "notes.txt" in capsys.readouterr().err
