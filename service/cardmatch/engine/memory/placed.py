"""From an engine's reservation to the verdict on one placement."""

from __future__ import annotations

import math
from typing import NamedTuple

from cardmatch.engine.memory.answer import Host, PerGpu, PlacementEstimate
from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool, Reservation, Working
from cardmatch.engine.memory.verdict import Load, Verdict, at_best, worst
from cardmatch.engine.terms.band import Band, weakest


class _Usage(NamedTuple):
    """What requests take of a cache: one of the engine's maximum length, all of mean length, the first, one more."""

    one: int
    every: int
    first: int
    further: int


_NOTHING = _Usage(0, 0, 0, 0)


def place(job: ServingJob, placement: Placement, reservation: Reservation, *, limits: bool = True) -> PlacementEstimate:
    """Judge *job* on *placement*, given what its engine reserves; without *limits* the most that it holds is left 0."""
    copies = placement.layout.data * reservation.copies
    share = -(-job.concurrency // copies)
    whole = _usage(reservation.cache, reservation, job, share)
    usages = [_usage_of(pool, whole, reservation, job, share) for pool in reservation.pools]
    loads = [_load(pool, usage, reservation, job) for pool, usage in zip(reservation.pools, usages, strict=True)]
    verdict, bound_by = worst(loads)
    if reservation.offloaded:
        verdict = at_best(verdict, Verdict.TIGHT)
    return PlacementEstimate(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        verdict=verdict,
        bound_by=bound_by,
        per_gpu=_per_gpu(job, reservation, whole.every, share),
        budget_bytes=max(0, reservation.budget_bytes),
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=min([load.budget_bytes - load.all_expected_bytes for load in loads]),
        engine_reserves=reservation.reserves,
        host=Host(ram_bytes=reservation.host_ram_bytes),
        max_context_tokens=_max_context(job, reservation) if limits else 0,
        max_concurrency=_max_concurrency(job, reservation, usages) * copies if limits else 0,
        notices=reservation.notices,
    )


def _usage(cache: CacheLayout, reservation: Reservation, job: ServingJob, share: int) -> _Usage:
    longest = reservation.longest_tokens
    mean = longest if reservation.allocates_longest else job.mean_tokens
    one = cache.request_bytes(longest)
    first = one if mean == longest else cache.request_bytes(mean)
    further = cache.further_bytes(mean, job.shared_prefix_tokens)
    return _Usage(one, max(one, first + (share - 1) * further), first, further)


def _usage_of(pool: Pool, whole: _Usage, reservation: Reservation, job: ServingJob, share: int) -> _Usage:
    if pool.cache is not None:
        return _usage(pool.cache, reservation, job, share)
    return whole if pool.holds_cache else _NOTHING


def _load(pool: Pool, usage: _Usage, reservation: Reservation, job: ServingJob) -> Load:
    """What *pool* holds with one request of the engine's maximum length, and with all requests."""
    fixed, high = pool.fixed_expected_bytes, pool.fixed_high_bytes + reservation.noise_high_bytes
    spared, spared_high = _spared(reservation)
    one = fixed - spared + usage.one
    one_high = high - spared_high + usage.one + _spread_above(job, reservation, usage.one)
    return Load(
        pool=pool.name,
        budget_bytes=pool.budget_bytes,
        one_expected_bytes=one,
        one_high_bytes=one_high,
        all_expected_bytes=max(one, fixed + usage.every),
        all_high_bytes=max(one_high, high + usage.every + _spread_above(job, reservation, usage.every)),
    )


def _spared(reservation: Reservation) -> tuple[int, int]:
    """What one request of the maximum length works with less than all do, expected and at the high end."""
    if reservation.working is None:
        return 0, 0
    every, one = reservation.activations, reservation.working.band(1, reservation.longest_tokens)
    return every.expected_bytes - one.expected_bytes, every.high_bytes - one.high_bytes


def _spread_above(job: ServingJob, reservation: Reservation, cache_bytes: int) -> int:
    """What the largest model that a bare size may mean would take beyond the one that stands for it."""
    if job.spread is None:
        return 0
    weights = reservation.weights.expected_bytes * (job.spread.weights_high - 1)
    return math.ceil(weights + cache_bytes * (job.spread.cache_high - 1))


def _spread_below(job: ServingJob, reservation: Reservation, cache_bytes: int) -> int:
    """What the smallest such model would spare."""
    if job.spread is None:
        return 0
    weights = reservation.weights.expected_bytes * (1 - job.spread.weights_low)
    return math.floor(weights + cache_bytes * (1 - job.spread.cache_low))


def _cache_of(pool: Pool, reservation: Reservation) -> CacheLayout | None:
    if pool.cache is not None:
        return pool.cache
    return reservation.cache if pool.holds_cache else None


def _per_gpu(job: ServingJob, reservation: Reservation, everything: int, share: int) -> PerGpu:
    weights, activations, overhead = reservation.weights, reservation.activations, reservation.overhead
    state = min(everything, reservation.cache.state_bytes * share)
    resident = reservation.resident_cache_bytes + reservation.resident_state_bytes
    held = everything + resident
    low = held + weights.low_bytes + activations.low_bytes + overhead.low_bytes
    low -= reservation.noise_low_bytes + _spread_below(job, reservation, everything)
    high = held + weights.high_bytes + activations.high_bytes + overhead.high_bytes
    high += reservation.noise_high_bytes + _spread_above(job, reservation, everything)
    total = Band(
        low_bytes=max(0, low),
        expected_bytes=held + weights.expected_bytes + activations.expected_bytes + overhead.expected_bytes,
        high_bytes=high,
        basis=weakest(job.basis, weights.basis, activations.basis, overhead.basis),
    )
    return PerGpu(
        weights_bytes=weights.expected_bytes,
        kv_cache_bytes=everything - state + reservation.resident_cache_bytes,
        recurrent_state_bytes=state + reservation.resident_state_bytes,
        activations_bytes=activations.expected_bytes,
        overhead_bytes=overhead.expected_bytes,
        total=total,
    )


def _max_context(job: ServingJob, reservation: Reservation) -> int:
    """The longest request that every pool holds while nothing else runs."""
    if reservation.max_context_tokens is not None:
        return reservation.max_context_tokens
    tokens = job.longest_possible_tokens
    for pool in reservation.pools:
        cache = _cache_of(pool, reservation)
        free = pool.budget_bytes - pool.fixed_expected_bytes
        tokens = min(tokens, cache.max_tokens(free, tokens) if cache is not None else tokens * (free >= 0))
        if not tokens:
            return 0
    return tokens


def _max_concurrency(job: ServingJob, reservation: Reservation, usages: list[_Usage]) -> int:
    """Requests of mean length that fit beside each other, the shared prefix stored once; 0 where the longest does not.

    An engine that cannot hold one request of its maximum length does not start.
    """
    most, working = reservation.most_requests, reservation.working
    each = 0 if working is None else working.band(1, job.mean_tokens).expected_bytes
    longest = 0 if working is None else working.band(1, reservation.longest_tokens).expected_bytes
    fixed = 0 if working is None else reservation.activations.expected_bytes
    for pool, usage in zip(reservation.pools, usages, strict=True):
        free = pool.budget_bytes - pool.fixed_expected_bytes + fixed
        if free < max(usage.first + each, usage.one + longest):
            return 0
        if usage.further + each:
            most = min(most, 1 + (free - usage.first - each) // (usage.further + each))
    # The bytes of many are not quite as many times the bytes of one, which were rounded.
    while working is not None and most and not _at_once(most, working, job, reservation, usages):
        most -= 1
    return most


def _at_once(number: int, working: Working, job: ServingJob, reservation: Reservation, usages: list[_Usage]) -> bool:
    more = working.band(number, job.mean_tokens).expected_bytes - reservation.activations.expected_bytes
    return all(
        pool.fixed_expected_bytes + more + usage.first + (number - 1) * usage.further <= pool.budget_bytes
        for pool, usage in zip(reservation.pools, usages, strict=True)
    )
