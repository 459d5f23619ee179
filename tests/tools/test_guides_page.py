"""docs/guides-versus-figures.md: what the guides claim, asked of the service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cardmatch.engine.advice.question import JobName, Profile
from tools.document_guides import BLOCK, PAGE, PAGES, answered, filled

TEXT = PAGE.read_text(encoding="utf-8")
REQUESTS = [(match[2], match[3]) for match in BLOCK.finditer(TEXT)]


def test_the_page_asks_about_every_system_that_it_names() -> None:
    """Cards, formats, engines and providers of the guides each stand in a request."""
    asked = " ".join(body for _, body in REQUESTS)
    cards = ("rtx-4090", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80", "h100-nvl-94")
    formats = ('"fp8"', '"int8"', '"awq_int4"', '"fp32"', "gguf:")
    named = (*cards, *formats, "nvlink", "mig", '"ecc"', '"lora"', '"full"', "stable diffusion", "sdxl")
    for name in (*named, "llama_cpp", "vllm", "mlperf", "llama_bench", "chainvps", "cloudzy", "monero"):
        assert name in asked, name


@pytest.mark.parametrize("row", [5, 6, 7, *range(9, 19), 25])
def test_every_row_of_the_guides_has_its_requests(row: int) -> None:
    """A row is named in a heading with requests below it, and in the table at the top."""
    headed = re.findall(r"^#+ [^\n]*\(rows? ([^)]*)\)$(.*?)(?=^## |\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    below = [body.split("\n### ")[:2] for rows, body in headed if row in _numbers(rows)]
    assert any("`POST /" in part for parts in below for part in parts)
    assert any(row in _numbers(cell) for cell in re.findall(r"^\| ([\d, ]+) \|", TEXT, flags=re.MULTILINE))


def _numbers(said: str) -> set[int]:
    """The rows of “9 to 15”, “6 and 7” or “6, 7”."""
    found = [int(number) for number in re.findall(r"\d+", said)]
    return set(range(found[0], found[-1] + 1)) if " to " in said else set(found)


def test_every_job_and_every_reader_of_the_guides_is_asked_about() -> None:
    """Rows 16 and 18, by their presets."""
    asked = " ".join(body for _, body in REQUESTS)
    for name in (*JobName, *Profile):
        assert f'"{name}"' in asked, name


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_a_request_of_the_page_is_answered_as_printed(path: str, body: str) -> None:
    """The quotation after each request is what the service says today."""
    assert answered(path, body) in TEXT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_that_ask_are_up_to_date(page: Path) -> None:
    """`make docs` would change nothing, and every request has its answer."""
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text
    assert len(BLOCK.findall(text)) == text.count("\n`POST /") >= 4


def _hours(body: str) -> float:
    """How long the job of *body* takes, by the printed answer."""
    said = re.search(r"takes ([\d.]+) (days|h|min)", answered("/recommend", body).replace("\n> ", " "))
    assert said is not None, body
    return float(said[1]) * {"days": 24, "h": 1, "min": 1 / 60}[said[2]]


def test_what_the_page_says_of_an_h100_beside_an_a100_holds() -> None:
    """2.2 times as fast at the same run."""
    runs = [body for _, body in REQUESTS if '"train_tokens": 1000000000}' in body]
    (older,) = [_hours(body) for body in runs if "a100" in body]
    (newer,) = [_hours(body) for body in runs if "h100" in body]
    assert older / newer == pytest.approx(2.2, abs=0.1)


def test_what_the_page_counts_of_jobs_holds() -> None:
    """Row 16: the figures agree with the guides on four of six, among the guides' cards."""
    among = [body for _, body in REQUESTS if '"preset"' in body and '"a100-sxm-80", "h100-sxm-80"]' in body]
    agreed = {
        name: "so do the figures" in answered("/recommend", body).replace("\n> ", " ")
        for name in JobName
        for body in among
        if f'"{name}"' in body
    }
    assert len(agreed) == len(JobName)
    assert sum(agreed.values()) == 4
