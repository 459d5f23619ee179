"""The dialect table that ships, and the minimal configs that it is tried on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cardmatch.engine.models.config.dialects import Dialects, load_dialects

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def dialects(root: Path) -> Dialects:
    """The table of names, families and towers in the catalogue's data."""
    return load_dialects((root / "service/cardmatch/catalogue/data/dialects.json").read_bytes())


def minimal_configs() -> list[dict[str, Any]]:
    """One minimal key set for each model_type, with the figures that it must give and where they come from."""
    return [json.loads(line) for line in (HERE / "minimal_configs.jsonl").read_text().splitlines()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that asks for a `minimal` config runs on each of them."""
    if "minimal" in metafunc.fixturenames:
        rows = minimal_configs()
        metafunc.parametrize("minimal", rows, ids=[row["name"] for row in rows])
