"""The README's requests give the answers that are printed below them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cardmatch.cli import main
from cardmatch.http.door import Door
from tests.http.asking import JSON, ask

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
_REQUEST = re.compile(
    r"curl -s http://127\.0\.0\.1:8000(\S+) [^\n]* -d '\n(.*?)'\n```\n\n(?:> (.*?)\n\n|```json\n(.*?)```)", re.DOTALL
)
_COMMAND = re.compile(r"^\.venv/bin/cardmatch (estimate [^\n]+)$", re.MULTILINE)
REQUESTS = _REQUEST.findall(README)


def test_there_are_four_requests_to_paste() -> None:
    """The pattern finds what a reader sees."""
    assert len(REQUESTS) == 4


@pytest.mark.parametrize(("path", "body", "summary", "document"), REQUESTS)
def test_a_request_is_answered_as_printed(service: Door, path: str, body: str, summary: str, document: str) -> None:
    """A quoted line is the answer's summary; a JSON block is the whole answer."""
    response = ask(service, "POST", path, body, JSON)
    answer = json.loads(response.body)
    if summary:
        assert response.status == 200
        assert answer["summary"] == " ".join(summary.replace("\n> ", " ").split())
    else:
        assert answer == json.loads(document)


COMMANDS = _COMMAND.findall(README)


def test_there_are_three_estimates_on_the_command_line() -> None:
    """One of serving, one of training, one of images."""
    assert len(COMMANDS) == 3


@pytest.mark.parametrize(
    ("line", "status", "figure"),
    [
        pytest.param(COMMANDS[0], 1, "24.24 GiB", id="serving"),
        pytest.param(COMMANDS[1], 0, "15.11 GiB", id="training"),
        pytest.param(COMMANDS[2], 0, "fits comfortably", id="images"),
    ],
)
def test_the_command_runs(line: str, status: int, figure: str, capsys: pytest.CaptureFixture[str]) -> None:
    """13B in 16 bits does not fit a 4090 when served, so that ends with 1; LoRA of 8B fits it, and so does SDXL."""
    arguments = [part.strip('"') for part in re.findall(r'"[^"]+"|\S+', line)]
    assert main(arguments) == status
    assert figure in capsys.readouterr().out
