"""How an engine stores the cache of one request on one GPU, and how many tokens fit in given bytes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class CacheTerm(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of alike layers on one GPU.

    A request of `n` tokens stores `min(n, cap_tokens)` tokens, rounded up to whole blocks of `block_tokens`, plus
    `spare_blocks`; each token takes `bytes_per_token` over all layers of the term, and a block `padding_bytes` more.
    While a request is prefilled, `flight_tokens` beyond the cap are held too. `fixed_bytes` do not grow with `n`;
    `state_bytes` of them are recurrent state.
    """

    bytes_per_token: int = 0
    block_tokens: int = 1
    padding_bytes: int = 0
    cap_tokens: int | None = None
    flight_tokens: int = 0
    spare_blocks: int = 0
    fixed_bytes: int = 0
    state_bytes: int = 0

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers of the term."""
        return self.block_tokens * self.bytes_per_token + self.padding_bytes

    def request_bytes(self, tokens: int, *, resting: bool = False) -> int:
        """Bytes that one request of *tokens* occupies, at most; while *resting* none of its tokens is in flight."""
        if not self.bytes_per_token:
            return self.fixed_bytes
        stored = tokens
        if self.cap_tokens is not None:
            stored = min(tokens, self.cap_tokens if resting else self.cap_tokens + self.flight_tokens)
        blocks = -(-stored // self.block_tokens) + self.spare_blocks
        return blocks * (self.block_tokens * self.bytes_per_token + self.padding_bytes) + self.fixed_bytes


class _Breakpoint(NamedTuple):
    tokens: int
    rate: int


class CacheLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of a request on the fullest GPU. `ranks` GPUs share each request's tokens (decode-context parallel).

    Where all terms draw on one pool of equal blocks, `block_bytes` is the size of one.
    """

    terms: tuple[CacheTerm, ...]
    ranks: int = 1
    block_bytes: int = 0

    @property
    def fixed_bytes(self) -> int:
        """Bytes of a request that do not grow with its length: recurrent state, encoder keys and values."""
        return sum(term.fixed_bytes for term in self.terms)

    @property
    def state_bytes(self) -> int:
        """Recurrent state of a request."""
        return sum(term.state_bytes for term in self.terms)

    def request_bytes(self, tokens: int, *, resting: bool = False) -> int:
        """Bytes that one request of *tokens* occupies on one GPU at most, or while none of its tokens is in flight."""
        held = tokens if self.ranks == 1 else -(-tokens // self.ranks)
        if len(self.terms) == 1:
            return self.terms[0].request_bytes(held, resting=resting)
        return sum([term.request_bytes(held, resting=resting) for term in self.terms])

    def total_bytes(self, requests: int, tokens: int, shared_prefix_tokens: int = 0) -> int:
        """Bytes of *requests* that hold *tokens* each, of which the first *shared_prefix_tokens* are stored once.

        Tokens in flight are the engine's batch, so they are counted once, not for every request.
        """
        first = self.request_bytes(tokens)
        if requests < 2:
            return requests * first
        return first + (requests - 1) * self.further_bytes(tokens, shared_prefix_tokens)

    def further_bytes(self, tokens: int, shared_prefix_tokens: int = 0) -> int:
        """Bytes that one request more takes beside others like it."""
        resting = self.request_bytes(tokens, resting=True)
        return resting - self.sharable_bytes(min(shared_prefix_tokens, tokens)) if shared_prefix_tokens else resting

    def sharable_bytes(self, tokens: int) -> int:
        """Whole blocks of the prefix in layers that keep every token: only those can be shared."""
        held = tokens // self.ranks
        return sum(held // term.block_tokens * term.block_bytes for term in self.terms if term.cap_tokens is None)

    def max_tokens(self, available_bytes: int, ceiling: int) -> int:
        """The longest request, up to *ceiling* tokens, whose cache fits in *available_bytes*; 0 where none does.

        `request_bytes` only grows, so the answer lies between two lines: solve for the unrounded figure, then settle
        the rounding by bisection over the last few blocks.
        """
        if len(self.terms) == 1 and self.terms[0].cap_tokens is None and self.terms[0].bytes_per_token:
            return self._max_tokens_of_one(self.terms[0], available_bytes, ceiling)
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

    def _max_tokens_of_one(self, term: CacheTerm, available_bytes: int, ceiling: int) -> int:
        """The same where all layers keep every token: whole blocks, each rank its share of the tokens."""
        blocks = (available_bytes - term.fixed_bytes) // term.block_bytes - term.spare_blocks
        return max(0, min(ceiling, blocks * term.block_tokens * self.ranks))

    def _upper_tokens(self, available_bytes: int) -> int:
        """Tokens that would fit without any rounding: never fewer than really do."""
        left = available_bytes - sum(term.fixed_bytes + term.spare_blocks * term.block_bytes for term in self.terms)
        capped = sorted(
            _Breakpoint(term.cap_tokens + term.flight_tokens, term.bytes_per_token)
            for term in self.terms
            if term.cap_tokens is not None
        )
        rate = sum(term.bytes_per_token for term in self.terms)
        at = 0
        for cap, capped_rate in capped:
            if not rate or left < (cap - at) * rate:
                break
            left -= (cap - at) * rate
            at, rate = cap, rate - capped_rate
        return (at + (left // rate if rate else 1 << 40)) * self.ranks + self.ranks
