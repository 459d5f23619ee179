"""The cache of one request: blocks, windows and how long a request may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.terms.units import GIB

LLAMA_3_1_8B = CacheLayout(terms=(CacheTerm(bytes_per_token=131_072, block_tokens=16),))
"""2 × 8 heads × 128 × 2 bytes × 32 layers, as the model's published configuration gives it."""


def test_llama_8b_takes_one_gib_for_8192_tokens() -> None:
    """8,192 tokens of Llama-3.1-8B in 16 bits take 1.00 GiB, and 32 such requests take 32.0."""
    assert LLAMA_3_1_8B.request_bytes(8192) == GIB
    assert LLAMA_3_1_8B.total_bytes(32, 8192) == 32 * GIB


def test_a_request_takes_whole_blocks() -> None:
    """One token more than a block takes a second block."""
    assert LLAMA_3_1_8B.request_bytes(17) == 32 * 131_072


def test_a_window_caps_what_is_kept() -> None:
    """Beyond its window, a sliding layer stores nothing more."""
    sliding = CacheLayout(terms=(CacheTerm(bytes_per_token=10, block_tokens=16, cap_tokens=1024),))
    assert sliding.request_bytes(100_000) == sliding.request_bytes(1024) == 10_240


def test_a_shared_prefix_is_stored_once() -> None:
    """Requests that share a prefix keep one copy of its whole blocks."""
    assert LLAMA_3_1_8B.total_bytes(4, 8192, 4096) == 4 * GIB - 3 * GIB // 2


TERMS = st.lists(
    st.builds(
        CacheTerm,
        bytes_per_token=st.integers(0, 100_000),
        block_tokens=st.sampled_from([1, 16, 64, 1568]),
        cap_tokens=st.none() | st.integers(1, 100_000),
        spare_blocks=st.integers(0, 2),
        fixed_bytes=st.integers(0, 10**8),
    ),
    min_size=1,
    max_size=4,
)


@given(TERMS, st.integers(1, 8), st.integers(0, 10**11), st.integers(1, 2_000_000))
def test_the_longest_request_is_the_longest(terms: list[CacheTerm], ranks: int, available: int, ceiling: int) -> None:
    """The answer fits, and one token more does not, or is beyond the ceiling."""
    layout = CacheLayout(terms=tuple(terms), ranks=ranks)
    tokens = layout.max_tokens(available, ceiling)
    assert 0 <= tokens <= ceiling
    assert tokens == 0 or layout.request_bytes(tokens) <= available
    assert tokens == ceiling or layout.request_bytes(tokens + 1) > available
