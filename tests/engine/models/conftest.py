"""The dialect table that ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from cardmatch.engine.models.config.dialects import Dialects, load_dialects


@pytest.fixture(scope="session")
def dialects(root: Path) -> Dialects:
    """The table of names, families and towers in the catalogue's data."""
    return load_dialects((root / "service/cardmatch/catalogue/data/dialects.json").read_bytes())
