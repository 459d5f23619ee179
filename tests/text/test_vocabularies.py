"""The words for members of closed vocabularies, and for units."""

from __future__ import annotations

from enum import StrEnum
from typing import get_args

import pytest

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.diffusion.curves import PhaseName
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.training.workload import AttentionKernel, Method, Sharding
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.formats import FORMATS
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.speed.reports.report import Tool
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.notice import Severity
from cardmatch.text.language import Language
from cardmatch.text.sentences import sentences
from cardmatch.text.units import TABLES, UNITS


@pytest.mark.parametrize("language", Language)
def test_words_are_the_same_vocabularies_in_every_language(language: Language) -> None:
    """Every table of words lists the same values."""
    tables = sentences(Language.EN).words
    words = sentences(language).words
    assert {name: table.keys() for name, table in words.items()} == {
        name: table.keys() for name, table in tables.items()
    }
    assert words["unit"].keys() == set(UNITS)
    assert set(TABLES.values()) <= words.keys()
    assert all(text.count("%s") == 1 for text in words["unit"].values())


@pytest.mark.parametrize(
    ("table", "vocabulary"),
    [
        ("verdict", Verdict),
        ("format", KvFormat),
        ("link", Link),
        ("tool", Tool),
        ("work_unit", WorkUnit),
        ("language", Language),
        ("severity", Severity),
        ("precision", Precision),
        ("optimizer", OptimizerName),
        ("attention", AttentionKernel),
        ("sharding", Sharding),
        ("method", Method),
        ("component_offload", ComponentOffload),
        ("phase", PhaseName),
    ],
)
def test_every_member_of_a_vocabulary_has_a_word(table: str, vocabulary: type[StrEnum]) -> None:
    """A member added to a closed vocabulary is not said in its spelling on the wire."""
    assert sentences(Language.EN).words[table].keys() >= {member.value for member in vocabulary}


def test_every_weight_format_and_engine_has_a_name() -> None:
    """Formats and engines are said as their makers write them."""
    words = sentences(Language.EN).words
    assert words["format"].keys() >= FORMATS.keys()
    assert words["engine"].keys() >= {str(engine.__struct_config__.tag) for engine in get_args(AnyEngine)}
