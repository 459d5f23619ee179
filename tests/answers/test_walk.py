"""From msgspec's paths to JSON Pointers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.walk import choices, follow
from tests.http.sample import Question


@pytest.mark.parametrize(
    ("path", "body", "pointer", "value"),
    [
        ("", {"model": "a"}, "", {"model": "a"}),
        (".batch", {"batch": 0}, "/batch", 0),
        (".tags[1]", {"tags": ["a", "bbbb"]}, "/tags/1", "bbbb"),
        (".model.layers", {"model": {"kind": "shape", "layers": 0}}, "/model/layers", 0),
        (".counts[...]", {"model": "a", "counts": {"x": 1, "y": 99, "z": 2}}, "/counts/y", 99),
        (".nothing.here[3]", {}, "/nothing/here/3", None),
    ],
)
def test_a_path_leads_to_its_pointer_and_value(path: str, body: Any, pointer: str, value: Any) -> None:
    """Names, indices and unnamed members of maps become the tokens of a JSON Pointer."""
    place = follow(path, body, Question)
    assert (place.pointer, place.value) == (pointer, value)


def test_the_member_of_a_large_map_is_found_quickly() -> None:
    """Of ten thousand members the one that does not fit is found by halving, not by trying each."""
    counts = {f"k{index}": 1 for index in range(10_000)} | {"bad": -1} | {f"l{index}": 1 for index in range(10_000)}
    decoded = 0

    class Map(msgspec.Struct):
        counts: dict[str, Any]

        def __post_init__(self) -> None:
            nonlocal decoded
            decoded += 1
            if -1 in self.counts.values():
                raise ValueError("bad")

    assert follow(".counts[...]", {"counts": counts}, Map).pointer == "/counts/bad"
    assert decoded < 20
    assert len(counts) == 20_001


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ({"model": {"kind": "x"}}, ["id", "shape"]),
        ({"format": 1}, ["fp16", "int8"]),
        ({"mode": 1}, ["fast", "slow"]),
        ({"language": 1}, ["en", "es", "zh"]),
    ],
)
def test_choices_are_those_of_the_place(body: dict[str, Any], known: list[str]) -> None:
    """Tags of a union, members of an enumeration and of a literal are what could have been sent there."""
    path = ".model.kind" if "model" in body else "." + next(iter(body))
    assert choices(follow(path, body, Question).kind) == known
