"""Options of `cardmatch estimate` that go with another kind of workload are refused by name."""

from __future__ import annotations

import argparse

import pytest

from cardmatch.cli import main
from cardmatch.cli.belonging import OPTIONS
from cardmatch.cli.estimate import add_arguments

LLAMA = "llama 3.1 8b"
OF_ANY = {"model", "card", "accept", "explain", "language", "json", "help"}


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        ([LLAMA, "--sequence", "4k"], "--sequence"),
        ([LLAMA, "--rank", "8"], "--rank"),
        ([LLAMA, "--optimizer", "adamw"], "--optimizer"),
        ([LLAMA, "--micro-batch", "4"], "--micro-batch"),
        ([LLAMA, "--framework", "trl"], "--framework"),
        ([LLAMA, "--sharding", "fsdp"], "--sharding"),
        ([LLAMA, "--batch", "4"], "--batch"),
        ([LLAMA, "--beams", "4"], "--beams"),
        ([LLAMA, "--precision", "bf16"], "--precision"),
        ([LLAMA, "--offload", "optimizer"], "--offload"),
        ([LLAMA, "--checkpointing", "full"], "--checkpointing"),
        ([LLAMA, "--vae-tiling"], "--vae-tiling"),
        ([LLAMA, "--train", "lora", "--engine", "vllm"], "--engine"),
        ([LLAMA, "--train", "lora", "--batch", "4"], "--batch"),
        (["bge-m3", "--encode", "embedding", "--micro-batch", "8"], "--micro-batch"),
        (["sdxl", "--engine", "vllm"], "--engine"),
        (["sdxl", "--packing"], "--packing"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    arguments: list[str], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forgetting --train once gave the figures of serving without a word."""
    assert main(["estimate", *arguments, "--card", "rtx-4090", "--language", "en"]) == 2
    assert capsys.readouterr().err.startswith(f"cardmatch: {flag}: This option goes with ")


def test_every_option_goes_with_a_kind_of_workload_or_any() -> None:
    """A new option must say what it belongs to."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    names = {action.dest for action in parser._actions}
    assert names - OF_ANY == set().union(*OPTIONS.values())


def test_a_configuration_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A path is not the name of a model."""
    assert main(["estimate", "/nowhere/config.json"]) == 2
    assert "No such file" in capsys.readouterr().err
