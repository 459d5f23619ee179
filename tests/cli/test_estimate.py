"""`cardmatch estimate`: a table for people, JSON for programs, and an exit status for pipelines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cardmatch.cli import main

LLAMA = "llama 3.1 8b"


@pytest.fixture(autouse=True)
def _in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([LLAMA], 0),
        ([LLAMA, "--card", "rtx-4090"], 0),
        ([LLAMA, "--card", "rtx-4090", "--engine", "llama_cpp", "--weights", "gguf:Q4_K_M"], 0),
        ([LLAMA, "--card", "rtx-4090", "--engine-args", "--max-model-len 131072"], 1),
        ([LLAMA, "--card", "rtx-4090", "--engine", "nothing"], 2),
        ([LLAMA, "--card", "rtx-4090", "--context", "8k", "--concurrency", "16"], 1),
        ([LLAMA, "--card", "rtx-4090", "--context", "8k", "--concurrency", "16", "--accept", "tight,queues"], 0),
        (["llama 2 13b", "--card", "rtx-4090", "--card", "h100-sxm-80"], 1),
        (["llama 2 13b", "--context", "4k"], 0),
        (["llama 3.3 70b", "--card", "2x h200-sxm"], 0),
        ([LLAMA, "--train", "lora", "--card", "rtx-4090"], 0),
        ([LLAMA, "--train", "full", "--card", "rtx-4090"], 1),
        ([LLAMA, "--train", "lora", "--context", "8k"], 2),
        ([LLAMA, "--train", "lora", "--targets", "q_proj,nope"], 2),
        (["no such model"], 2),
        ([LLAMA, "--card", "no such card"], 2),
        ([LLAMA, "--weights", "no-such-format"], 2),
    ],
)
def test_the_exit_status_tells_a_pipeline(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 where every card named is good (with none named, one is enough), 1 where not, 2 for bad input."""
    assert main(["estimate", *arguments]) == status
    printed = capsys.readouterr()
    assert bool(printed.err) == (status == 2)


def test_a_table_shows_each_placement(capsys: pytest.CaptureFixture[str]) -> None:
    """The summary, then a row for each card."""
    main(["estimate", LLAMA, "--card", "rtx-4090", "--card", "a100-sxm-80:3g.40gb"])
    printed = capsys.readouterr().out
    assert printed.startswith("Llama-3.1-8B-Instruct needs 14.96 GiB of weights")
    assert "rtx-4090" in printed
    assert "3g.40gb" in printed


def test_json_is_the_answer_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    """What POST /estimate-vram would answer."""
    main(["estimate", LLAMA, "--card", "rtx-4090", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["placements"][0]["verdict"] in {"fits", "comfortable"}
    assert answer["model"]["id"] == "meta-llama/Llama-3.1-8B-Instruct"


def test_a_configuration_file_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A config.json on disk is sent as it is."""
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "hidden_size": 2048,
                "intermediate_size": 8192,
                "num_hidden_layers": 16,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 64,
                "vocab_size": 128256,
                "tie_word_embeddings": True,
                "max_position_embeddings": 131072,
            }
        ),
        encoding="utf-8",
    )
    assert main(["estimate", str(path)]) == 0
    assert "2.30 GiB of weights" in capsys.readouterr().out  # Llama-3.2-1B: 1,235,814,400 parameters


def test_it_does_not_import_the_web_framework() -> None:
    """A command that answers in a moment pays for no server."""
    code = (
        "import sys; from cardmatch.cli import main; main(['estimate', '7B']); "
        "sys.exit(any(m.partition('.')[0] in {'litestar', 'granian', 'redis', 'httpx'} for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_training_options_are_those_of_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    """Rank, targets, lengths, offload: nothing is assumed that was given."""
    options = ["--train", "lora", "--rank", "8", "--targets", "q_proj,v_proj", "--sequence", "4k", "--micro-batch", "2"]
    main(["estimate", "llama 2 7b", *options, "--offload", "activations", "--card", "2x rtx-4090", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["need"]["trainable_parameters"] == 4_194_304
    assert answer["placements"][0]["sharding"] == "fsdp"
    given = {"/workload/lora/rank", "/workload/lora/targets", "/workload/sequence_tokens", "/workload/micro_batch"}
    assert given.isdisjoint(assumption["pointer"] for assumption in answer["assumptions"])


def test_a_training_table_shows_the_largest_micro_batch(capsys: pytest.CaptureFixture[str]) -> None:
    """Its columns are those of training, and ways to fit name their card."""
    main(["estimate", LLAMA, "--train", "full", "--card", "rtx-4090"])
    printed = capsys.readouterr().out
    assert "micro-batch" in printed
    assert "1× rtx-4090: With QLoRA" in printed


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ([LLAMA, "--card", "rtx-4090"], "split_bytes / tensor"),
        ([LLAMA, "--train", "qlora", "--card", "t4"], "bytes_each * vocabulary_size * tokens"),
        (["sdxl", "--card", "rtx-4090"], "elements * bytes_each"),
        (["bge-m3", "--encode", "embedding", "--card", "rtx-4090"], "batch * tokens"),
    ],
)
def test_figures_are_explained(arguments: list[str], rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --explain each figure comes with its rule, the formula and its numbers, whatever the workload."""
    assert main(["estimate", *arguments, "--explain"]) == 0
    assert rule in capsys.readouterr().out
