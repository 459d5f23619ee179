"""Mutated configs are refused with a pointer, or read to a bounded size; they never crash the reader."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.config.read import read_config
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import Invalid
from tests.engine.models.config.conftest import minimal_configs
from tests.engine.models.mutations import mutated, read_or_refused

ROWS = minimal_configs()


@given(config=mutated([row["config"] for row in ROWS]))
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_mutated_config_is_refused_or_bounded(config: dict[str, Any], dialects: Dialects) -> None:
    """Whatever is changed, the reader answers within ten milliseconds and with a fault or finite figures."""
    architecture = read_or_refused(lambda: read_config(config, dialects))
    if architecture is None:
        return
    counts = parameters(architecture)
    assert 0 < counts.active <= counts.total <= 10**14
    assert all(row.layers > 0 and row.elements >= 0 for row in by_layer(architecture))


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_list_for_a_config_is_refused(row: dict[str, Any], dialects: Dialects) -> None:
    """Something other than an object is refused at the top."""
    with pytest.raises(Invalid):
        read_config([row["config"]], dialects)  # type: ignore[arg-type]
