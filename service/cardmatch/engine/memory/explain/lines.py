"""Making lines, and those that follow from the weights and the cache alone."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.cache_layout import CacheTerm
from cardmatch.engine.memory.calibration import Fitted
from cardmatch.engine.memory.explain.explanation import Explanation, FittedOn, Rule, Source
from cardmatch.engine.memory.explain.formulas import FORMULAS
from cardmatch.engine.memory.extras import lora_sizes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.weights import Share, WeightSums
from cardmatch.engine.terms.notice import Scalar


class Book(NamedTuple):
    """Where an engine's rules stand: by rule, and the file for all others; and the day of the calibration."""

    engine: str
    version: str
    file: str
    file_of: dict[Rule, str]
    as_of: str

    def line(self, rule: Rule, result_bytes: float, fitted: Fitted | None = None, /, **numbers: Scalar) -> Explanation:
        """A line by *rule*, with the constant that was *fitted* if its numbers hold one."""
        source = Source(engine=self.engine, version=self.version, file=self.file_of.get(rule, self.file))
        measured = None if fitted is None else FittedOn(rows=fitted.rows, as_of=self.as_of)
        return line(rule, result_bytes, numbers, source, measured)


def line(
    rule: Rule, result_bytes: float, numbers: dict[str, Scalar], source: Source, measured: FittedOn | None = None
) -> Explanation:
    """A line by *rule*, which stands at *source*."""
    formula = FORMULAS[rule]
    return Explanation(
        component=formula.component,
        rule=rule,
        formula=formula.expression,
        numbers=numbers,
        result_bytes=int(result_bytes),
        source=source,
        measured=measured,
    )


def constant_line(book: Book, rule: Rule, name: str, constant: Fitted) -> Explanation:
    """A fitted constant that stands for itself."""
    return book.line(rule, constant.value, constant, **{name: constant.value})


def weight_lines(book: Book, sums: WeightSums, layout: Layout, growth: float = 1.0) -> list[Explanation]:
    """The weights of a model's only pipeline stage on one tensor rank, by what happens to them."""
    every = _whole(sums)
    tensor = layout.tensor
    ranks = layout.expert if layout.expert > 1 else tensor
    experts = every.experts * growth / ranks
    return [
        book.line(Rule.WEIGHTS_SPLIT, every.sharded / tensor, split_bytes=every.sharded, tensor=tensor),
        book.line(Rule.WEIGHTS_EXPERTS, experts, expert_bytes=every.experts, ranks=ranks)
        if growth == 1
        else book.line(Rule.WEIGHTS_PADDED_EXPERTS, experts, expert_bytes=every.experts, growth=growth, ranks=ranks),
        book.line(Rule.WEIGHTS_COPIED, every.replicated, copied_bytes=every.replicated),
        *(
            book.line(
                Rule.WEIGHTS_HEADS,
                size * max(1, heads // tensor) / heads,
                head_bytes=size,
                kv_heads=heads,
                tensor=tensor,
            )
            for heads, size in every.by_heads
        ),
    ]


def _whole(sums: WeightSums) -> Share:
    shares = (*sums.groups, sums.first, sums.last)
    heads: dict[int, int] = {}
    for share in shares:
        for count, size in share.by_heads:
            heads[count] = heads.get(count, 0) + size
    return Share(
        sharded=sum(share.sharded for share in shares),
        replicated=sum(share.replicated for share in shares),
        experts=sum(share.experts for share in shares),
        by_heads=tuple(heads.items()),
    )


def lora_line(
    book: Book, job: ServingJob, slots: int, rank: int, tensor: int, *, stages: int = 1, sharded: bool = False
) -> Explanation:
    """LoRA slots on one rank."""
    sizes = lora_sizes(job.architecture)
    input_ranks = tensor if sharded else 1
    return book.line(
        Rule.LORA_SLOTS,
        slots * rank * (sizes.inputs / input_ranks + sizes.outputs / tensor) * 2 / stages,
        slots=slots,
        rank=rank,
        inputs=sizes.inputs,
        outputs=sizes.outputs,
        input_ranks=input_ranks,
        tensor=tensor,
        stages=stages,
    )


def cache_lines(book: Book, job: ServingJob, reservation: Reservation, share: int) -> list[Explanation]:
    """The cache of *share* requests of mean length, or of one of the engine's maximum length where that is more."""
    cache = reservation.cache
    longest = reservation.longest_tokens
    mean = longest if reservation.allocates_longest else job.mean_tokens
    every = cache.total_bytes(share, mean, job.shared_prefix_tokens)
    requests, tokens = (share, mean) if every >= cache.request_bytes(longest) else (1, longest)
    held = -(-tokens // cache.ranks)
    lines = [_term_line(book, term, requests, held) for term in cache.terms]
    prefix = min(job.shared_prefix_tokens, tokens) // cache.ranks
    return lines + [
        book.line(
            Rule.CACHE_SHARED,
            -(requests - 1) * (prefix // term.block_tokens) * term.block_bytes,
            requests=requests,
            prefix_tokens=prefix,
            block_tokens=term.block_tokens,
            block_bytes=term.block_bytes,
        )
        for term in cache.terms
        if term.cap_tokens is None
    ]


def _term_line(book: Book, term: CacheTerm, requests: int, held: int) -> Explanation:
    size = term.request_bytes(held) + (requests - 1) * term.request_bytes(held, resting=True)
    if not term.bytes_per_token:
        return book.line(Rule.CACHE_FIXED, size, requests=requests, fixed_bytes=term.fixed_bytes)
    numbers: dict[str, Scalar] = {
        "requests": requests,
        "tokens": held,
        "block_tokens": term.block_tokens,
        "spare_blocks": term.spare_blocks,
        "block_bytes": term.block_bytes,
        "fixed_bytes": term.fixed_bytes,
    }
    if term.cap_tokens is None:
        return book.line(Rule.CACHE_ALL, size, **numbers)
    window = {"window_tokens": term.cap_tokens, "in_flight_tokens": term.flight_tokens}
    return book.line(Rule.CACHE_WINDOW, size, **numbers, **window)
