"""Objects that were well-formed until something in them was changed."""

from __future__ import annotations

import copy
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from cardmatch.engine.terms.fault import Invalid

T = TypeVar("T")
_REFUSED_WITHIN_NS = 10_000_000

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
def mutated(draw: st.DrawFn, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One of *samples* with one to three values replaced, removed, or lists cut short."""
    config: dict[str, Any] = copy.deepcopy(dict(draw(st.sampled_from(samples))))
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


def read_or_refused(read: Callable[[], T]) -> T | None:
    """What *read* gives, or None where it refuses: within ten milliseconds, and with pointers.

    The collector stands still meanwhile, for the garbage is the test's own.
    """
    gc.disable()
    started = time.process_time_ns()
    try:
        return read()
    except Invalid as refused:
        assert time.process_time_ns() - started < _REFUSED_WITHIN_NS
        for fault in refused.faults:
            assert fault.pointer == "" or fault.pointer.startswith("/")
        return None
    finally:
        gc.enable()
