"""The presets of recommendations: what the buyers' guides and the engines' documentation say, each with its source."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from cardmatch.engine.advice.presets import Presets

_FILE = Path(__file__).parent / "data" / "presets.json"


@functools.cache
def presets() -> Presets:
    """The presets that ship with this release; read once a process."""
    return msgspec.json.decode(_FILE.read_bytes(), type=Presets)
