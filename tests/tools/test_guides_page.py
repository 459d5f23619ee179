"""docs/guides-versus-figures.md: what the guides claim, asked of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.document_guides import BLOCK, PAGE, PAGES, answered, filled

TEXT = PAGE.read_text(encoding="utf-8")
REQUESTS = [(match[2], match[3]) for match in BLOCK.finditer(TEXT)]


def test_the_page_asks_about_every_system_that_it_names() -> None:
    """Cards, formats, engines and providers of the guides each stand in a request."""
    asked = " ".join(body for _, body in REQUESTS)
    named = ("rtx-4090", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80", "nvlink", "mig", '"ecc"', "fp8", "awq_int4")
    for name in (*named, "lora", "full", "llama_cpp", "chainvps", "cloudzy", "monero"):
        assert name in asked, name


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
