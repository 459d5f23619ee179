"""Which language a request is answered in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardmatch.text.language import Language, choose_language

EN, ES, ZH = Language.EN, Language.ES, Language.ZH


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, EN),
        ("", EN),
        ("es", ES),
        ("ES-mx", ES),
        ("es-419,es;q=0.9,en;q=0.8", ES),
        ("zh-CN,zh;q=0.9,en;q=0.8", ZH),
        ("zh-Hans", ZH),
        ("zh-Hant-TW", ZH),
        ("en-GB;q=0.5, zh-Hans-SG;q=0.8", ZH),
        ("de, es;q=0.3", ES),
        ("de, fr", EN),
        ("*", EN),
        ("es;q=0.2, *;q=0.8", EN),
        ("en;q=0, *", ES),
        ("en;q=0, es;q=0", EN),
        ("es;q=0", EN),
        ("es;q=0.5, zh;q=0.5", ES),
        ("zh;q=0.5, es;q=0.5", ZH),
        ("en; q=0.1 , es ; q=0.2", ES),
        ("es;q=nonsense, zh;q=0.1", ZH),
        (";;;,,,q=1", EN),
    ],
)
def test_the_best_accepted_language_is_spoken(header: str | None, expected: Language) -> None:
    """Weights decide, then order; a region or script counts as its language; English where nothing is accepted."""
    assert choose_language(header) is expected


@given(st.text(), st.sampled_from(Language))
def test_the_field_wins(header: str, field: Language) -> None:
    """What the request says in its own field counts, whatever the header."""
    assert choose_language(header, field) is field


@given(st.text(alphabet="enszhq=01.;,*- ", max_size=60))
def test_no_header_is_an_error(header: str) -> None:
    """Whatever stands in the header, some language is spoken."""
    assert choose_language(header) in Language


def test_a_very_long_header_is_read_in_part() -> None:
    """A header of many ranges costs no more than one of a few."""
    assert choose_language("xx," * 100_000 + "es") is EN
