"""Mutated configs are refused with a pointer, or read to a bounded size; they never crash the reader."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.config.read import read_config
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import Invalid
from tests.engine.models.config.conftest import minimal_configs

ROWS = minimal_configs()

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(10**25), max_value=10**25),
    st.sampled_from([0, 1, 2, 3, 5, 7, 64, 127, 1 << 20, 1 << 31, -1]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=40),
)
_VALUES = st.one_of(
    _SCALARS,
    st.lists(_SCALARS, max_size=6),
    st.dictionaries(st.text(max_size=8), _SCALARS, max_size=4),
    st.just([1] * 5000),
)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of everything inside *value*, long lists by their first and last items alone."""
    if isinstance(value, dict):
        inner: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list) and value:
        inner = [(0, value[0]), (len(value) - 1, value[-1])]
    else:
        return [path] if path else []
    found = [path] if path else []
    for key, item in inner:
        found += _paths(item, (*path, key))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A minimal config with one to three values replaced, removed, or lists cut short."""
    config: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(ROWS))["config"])
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        path = draw(st.sampled_from(_paths(config) or [("model_type",)]))
        holder: Any = config
        for step in path[:-1]:
            holder = holder[step]
        action = draw(st.sampled_from(["replace", "remove", "cut"]))
        if action == "remove" and isinstance(holder, dict):
            holder.pop(path[-1], None)
        elif action == "cut" and isinstance(holder, list):
            del holder[-1]
        else:
            holder[path[-1]] = copy.deepcopy(draw(_VALUES))
    return config


@given(config=mutated())
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_mutated_config_is_refused_or_bounded(config: dict[str, Any], dialects: Dialects) -> None:
    """Whatever is changed, the reader answers within ten milliseconds and with a fault or finite figures."""
    started = time.process_time_ns()
    try:
        architecture = read_config(config, dialects)
    except Invalid as refused:
        assert time.process_time_ns() - started < 10_000_000 + _slack()
        for fault in refused.faults:
            assert fault.pointer == "" or fault.pointer.startswith("/")
        return
    counts = parameters(architecture)
    assert 0 < counts.active <= counts.total <= 10**14
    assert all(row.layers > 0 and row.elements >= 0 for row in by_layer(architecture))


def _slack() -> int:
    """A collection of garbage may fall into the measured span; it is not the reader's."""
    return 15_000_000


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_list_for_a_config_is_refused(row: dict[str, Any], dialects: Dialects) -> None:
    """Something other than an object is refused at the top."""
    with pytest.raises(Invalid):
        read_config([row["config"]], dialects)  # type: ignore[arg-type]
