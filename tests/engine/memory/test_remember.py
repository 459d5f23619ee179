"""What is remembered between requests stays small, whatever callers send."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.engine.memory.profile import _profile, profile
from cardmatch.engine.memory.remember import is_small
from cardmatch.engine.models.checkpoint import plain


def test_every_model_of_the_catalogue_is_remembered() -> None:
    """The models that requests keep naming are all small enough."""
    assert all(is_small(row.architecture) for row in bundled_models().models.values())


def test_a_huge_architecture_is_not() -> None:
    """Thousands of layers of a caller's own leave nothing behind."""
    architecture = bundled_models().models["meta-llama/Llama-3.1-8B-Instruct"].architecture
    huge = msgspec.structs.replace(architecture, layer_order=(0,) * 4096)
    before = _profile.cache_info().currsize
    assert profile(huge, plain()).parameters.total > 800_000_000_000
    assert _profile.cache_info().currsize == before
