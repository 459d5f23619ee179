"""The page of codes, compared with the code."""

from __future__ import annotations

from pathlib import Path

from tools.document_codes import page


def test_the_page_of_codes_is_up_to_date(root: Path) -> None:
    """docs/notices.md is what `make docs` (`python tools/document_codes.py`) writes."""
    assert (root / "docs" / "notices.md").read_text(encoding="utf-8") == page()
