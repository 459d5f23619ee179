"""How an engine stores the cache of one request on one GPU, and how many tokens fit in given bytes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class CacheTerm(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of alike layers on one GPU.

    A request of `n` tokens stores `min(n, cap_tokens)` tokens, rounded up to whole blocks of `block_tokens`, plus
    `spare_blocks`; each token takes `bytes_per_token` over all layers of the term. `fixed_bytes` do not grow with `n`.
    """

    bytes_per_token: int = 0
    block_tokens: int = 1
    cap_tokens: int | None = None
    spare_blocks: int = 0
    fixed_bytes: int = 0

    def request_bytes(self, tokens: int) -> int:
        """Bytes that one request of *tokens* occupies."""
        if not self.bytes_per_token:
            return self.fixed_bytes
        stored = tokens if self.cap_tokens is None else min(tokens, self.cap_tokens)
        blocks = -(-stored // self.block_tokens) + self.spare_blocks
        return blocks * self.block_tokens * self.bytes_per_token + self.fixed_bytes


class _Breakpoint(NamedTuple):
    tokens: int
    rate: int


class CacheLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of a request on the fullest GPU. `ranks` GPUs share each request's tokens (decode-context parallel)."""

    terms: tuple[CacheTerm, ...]
    ranks: int = 1

    @property
    def fixed_bytes(self) -> int:
        """Bytes of a request that do not grow with its length: recurrent state, encoder keys and values."""
        return sum(term.fixed_bytes for term in self.terms)

    def request_bytes(self, tokens: int) -> int:
        """Bytes that one request of *tokens* occupies on one GPU."""
        held = -(-tokens // self.ranks)
        return sum(term.request_bytes(held) for term in self.terms)

    def total_bytes(self, requests: int, tokens: int, shared_prefix_tokens: int = 0) -> int:
        """Bytes of *requests* that hold *tokens* each, of which the first *shared_prefix_tokens* are stored once."""
        each = self.request_bytes(tokens)
        if requests < 2 or not shared_prefix_tokens:
            return requests * each
        return requests * each - (requests - 1) * self.sharable_bytes(min(shared_prefix_tokens, tokens))

    def sharable_bytes(self, tokens: int) -> int:
        """Whole blocks of the prefix in layers that keep every token: only those can be shared."""
        held = tokens // self.ranks
        return sum(
            held // term.block_tokens * term.block_tokens * term.bytes_per_token
            for term in self.terms
            if term.cap_tokens is None
        )

    def max_tokens(self, available_bytes: int, ceiling: int) -> int:
        """The longest request, up to *ceiling* tokens, whose cache fits in *available_bytes*; 0 where none does.

        `request_bytes` only grows, so the answer lies between two lines: solve for the unrounded figure, then settle
        the rounding by bisection over the last few blocks.
        """
        if self.request_bytes(ceiling) <= available_bytes:
            return ceiling
        if self.request_bytes(1) > available_bytes:
            return 0
        low, high = 1, min(ceiling, self._upper_tokens(available_bytes))
        slack = sum(term.block_tokens * (1 + term.spare_blocks) for term in self.terms) * self.ranks
        if high - slack > low and self.request_bytes(high - slack) <= available_bytes:
            low = high - slack
        while low < high:
            middle = (low + high + 1) // 2
            if self.request_bytes(middle) <= available_bytes:
                low = middle
            else:
                high = middle - 1
        return low

    def _upper_tokens(self, available_bytes: int) -> int:
        """Tokens that would fit without any rounding: never fewer than really do."""
        left = available_bytes - sum(
            term.fixed_bytes + term.spare_blocks * term.block_tokens * term.bytes_per_token for term in self.terms
        )
        capped = sorted(
            (_Breakpoint(term.cap_tokens, term.bytes_per_token) for term in self.terms if term.cap_tokens is not None),
        )
        rate = sum(term.bytes_per_token for term in self.terms)
        at = 0
        for cap, capped_rate in capped:
            if not rate or left < (cap - at) * rate:
                break
            left -= (cap - at) * rate
            at, rate = cap, rate - capped_rate
        return (at + (left // rate if rate else 1 << 40)) * self.ranks + self.ranks
