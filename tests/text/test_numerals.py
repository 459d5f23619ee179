"""Numbers as each language writes them, compared with Babel."""

from __future__ import annotations

import re
from decimal import Context, Decimal, localcontext

import pytest
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal, format_percent
from hypothesis import given
from hypothesis import strategies as st

from cardmatch.engine.terms.units import GIB
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import speaker_of
from cardmatch.text.units import writer

LOCALES = {Language.EN: "en", Language.ES: "es", Language.ZH: "zh_Hans"}
languages = st.sampled_from(Language)
magnitudes = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False)


@given(languages, st.integers(min_value=-(1 << 62), max_value=1 << 62))
def test_integers_are_grouped_as_babel_groups_them(language: Language, value: int) -> None:
    """Any integer reads as Babel writes it."""
    assert numerals(language).integer(value) == format_decimal(value, locale=LOCALES[language])


@given(languages, magnitudes, st.integers(min_value=1, max_value=6))
def test_fixed_decimals_are_those_of_babel(language: Language, value: float, digits: int) -> None:
    """Any number with fixed decimals reads as Babel writes it."""
    pattern = "#,##0." + "0" * digits
    assert numerals(language).fixed(value, digits) == format_decimal(value, format=pattern, locale=LOCALES[language])


@given(languages, magnitudes, st.integers(min_value=0, max_value=6))
def test_brief_decimals_are_those_of_babel(language: Language, value: float, digits: int) -> None:
    """Any number with up to so many decimals reads as Babel writes it."""
    pattern = ("#,##0." + "#" * digits).rstrip(".")
    assert numerals(language).brief(value, digits) == format_decimal(value, format=pattern, locale=LOCALES[language])


@given(languages, st.integers(min_value=-(1 << 60), max_value=1 << 60))
def test_gib_are_exact_before_they_are_rounded(language: Language, value: int) -> None:
    """Bytes become GiB without passing through a float."""
    with localcontext(Context(prec=60)):
        exact = Decimal(value) / Decimal(GIB)
        expected = format_decimal(exact, format="#,##0.00", locale=LOCALES[language])
    assert numerals(language).hundredths(value, 30) == expected


@given(languages, st.floats(min_value=0.1, max_value=1e9))
def test_dollars_are_written_as_babel_writes_them(language: Language, value: float) -> None:
    """$0.69 in English, 0,69 US$ (joined by a no-break space) in Spanish, US$0.69 in Chinese."""
    write = writer("monthly_usd", "", speaker_of(language))
    assert write(value) == format_currency(value, "USD", locale=LOCALES[language])
    assert write(-value) == format_currency(-value, "USD", locale=LOCALES[language])


@given(languages, st.integers(min_value=-1000, max_value=1000))
def test_percentages_are_written_as_babel_writes_them(language: Language, value: int) -> None:
    """80% in English and Chinese, 80 % in Spanish."""
    write = writer("share_percent", "", speaker_of(language))
    assert write(value) == format_percent(Decimal(value) / 100, locale=LOCALES[language])


@given(languages, st.lists(st.text(min_size=1, max_size=8), max_size=5), st.sampled_from(["", "or"]))
def test_lists_are_joined_as_babel_joins_them(language: Language, items: list[str], listing: str) -> None:
    """Commas, conjunctions and the Chinese enumeration comma stand where CLDR puts them."""
    plain = [item.replace("{", "").replace("}", "") for item in items]
    locale = LOCALES[language]
    expected = format_list(plain, "or", locale=locale) if listing else format_list(plain, locale=locale)
    said = writer("fields", listing, speaker_of(language))(plain)
    assert re.sub(" ([和或]) ", r"\1", said) == re.sub(" ([和或]) ", r"\1", expected)


def test_a_chinese_conjunction_keeps_its_distance_from_latin_names() -> None:
    """A space stands between Han characters and Latin names, as everywhere in these sentences."""
    write = writer("fields", "or", speaker_of(Language.ZH))
    assert write(["A100", "L4", "H100"]) == "A100、L4 或 H100"
    assert write(["整数", "小数"]) == "整数或小数"


@pytest.mark.parametrize(
    ("seconds", "english", "spanish", "chinese"),
    [
        (0.0065, "6.5 ms", "6,5 ms", "6.5 毫秒"),
        (0.25, "250 ms", "250 ms", "250 毫秒"),
        (90, "90 s", "90 s", "90 秒"),
        (600, "10 min", "10 min", "10 分钟"),
        (9_000, "2.5 h", "2,5 h", "2.5 小时"),
        (259_200, "3 days", "3 días", "3 天"),
    ],
)
def test_durations_are_written_in_a_unit_that_suits_them(
    seconds: float, english: str, spanish: str, chinese: str
) -> None:
    """Milliseconds to days, each with few digits."""
    said = [writer("wait_seconds", "", speaker_of(language))(seconds) for language in Language]
    assert said == [english, spanish, chinese]


@pytest.mark.parametrize(
    ("name", "value", "english", "spanish", "chinese"),
    [
        ("need_bytes", 40 << 30, "40.00 GiB", "40,00 GiB", "40.00 GiB"),
        ("limit_bytes", 4 << 20, "4 MiB", "4 MiB", "4 MiB"),
        ("limit_bytes", 64 << 10, "64 KiB", "64 KiB", "64 KiB"),
        ("bytes_per_token", 131_072, "128 KiB", "128 KiB", "128 KiB"),
        ("memory_gb", 80, "80 GB", "80 GB", "80 GB"),
        ("bandwidth_gb_s", 3_352.32, "3,352 GB/s", "3.352 GB/s", "3,352 GB/s"),
        ("price_usd_per_hour", 0.69, "$0.69/h", "0,69\u00a0US$/h", "US$0.69/小时"),
        ("price_usd", 0.0034, "$0.0034", "0,0034\u00a0US$", "US$0.0034"),
        ("context_tokens", 131_072, "131,072", "131.072", "131,072"),
        ("output_tokens_per_second", 43.21, "43.2 tokens/s", "43,2 tokens/s", "43.2 token/秒"),
        ("model_parameters", 8_030_261_248, "8.03 B", "8,03 B", "8.03 B"),
        ("verdict", "does_not_fit", "does not fit", "no cabe", "放不下"),
        ("formats", ["bf16", "fp8"], "BF16 and FP8", "BF16 y FP8", "BF16 和 FP8"),
    ],
)
def test_the_unit_is_in_the_name(
    name: str, value: str | float | list[str], english: str, spanish: str, chinese: str
) -> None:
    """A placeholder's name says how its value is written."""
    assert [writer(name, "", speaker_of(language))(value) for language in Language] == [english, spanish, chinese]
