"""Numbers and cards as people type them."""

from __future__ import annotations

import pytest

from cardmatch.cli import shorthand


@pytest.mark.parametrize(
    ("text", "tokens"), [("8k", 8192), ("8192", 8192), ("1,5k", 1536), ("0.5M", 524_288), (" 32 K ", 32_768)]
)
def test_context_lengths_count_in_powers_of_two(text: str, tokens: int) -> None:
    """8k of context is 8,192 tokens, whatever the decimal sign."""
    assert shorthand.tokens(text) == tokens


def test_other_counts_are_decimal() -> None:
    """10k requests are ten thousand."""
    assert shorthand.count("10k") == 10_000


@pytest.mark.parametrize("text", ["", "k", "-1", "1e3", "8kk", "nan", "1,5"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    """Anything else raises ValueError, which argparse turns into a usage message."""
    with pytest.raises(ValueError):
        shorthand.tokens(text)


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("rtx-4090", (1, "rtx-4090", None)),
        ("2x h100-sxm-80", (2, "h100-sxm-80", None)),
        ("4 × L40S", (4, "L40S", None)),
        ("a100-sxm-80:3g.40gb", (1, "a100-sxm-80", "3g.40gb")),
        ("xe-hpc", (1, "xe-hpc", None)),
    ],
)
def test_a_card_may_have_a_count_and_a_profile(text: str, card: tuple[int, str, str | None]) -> None:
    """`2x` before the name counts, `:3g.40gb` after it is a MIG profile."""
    assert shorthand.card(text) == card
