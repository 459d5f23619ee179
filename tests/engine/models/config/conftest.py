"""The minimal configs that the dialect table is tried on, and what classes default to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def minimal_configs() -> list[dict[str, Any]]:
    """One minimal key set for each model_type, with the figures that it must give and where they come from."""
    return [json.loads(line) for line in (HERE / "minimal_configs.jsonl").read_text().splitlines()]


def class_defaults() -> list[dict[str, Any]]:
    """The parameters of transformers 5.24's own classes with nothing configured, counted on its meta device.

    LongCat's is less the weights that it builds for experts that compute nothing, which no checkpoint has.
    """
    return [json.loads(line) for line in (HERE / "class_defaults.jsonl").read_text().splitlines()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that asks for a `minimal` config, or for the defaults of a class, runs on each of them."""
    if "default" in metafunc.fixturenames:
        rows = class_defaults()
        metafunc.parametrize("default", rows, ids=[row["model_type"] for row in rows])
    if "minimal" in metafunc.fixturenames:
        rows = minimal_configs()
        metafunc.parametrize("minimal", rows, ids=[row["name"] for row in rows])
