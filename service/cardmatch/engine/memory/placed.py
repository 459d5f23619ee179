"""From an engine's reservation to the verdict on one placement."""

from __future__ import annotations

import math

from cardmatch.engine.memory.answer import Host, PerGpu, PlacementEstimate
from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.memory.verdict import Load, Verdict, at_best, worst
from cardmatch.engine.terms.band import Band, weakest


def place(job: ServingJob, placement: Placement, reservation: Reservation) -> PlacementEstimate:
    """Judge *job* on *placement*, given what its engine reserves there."""
    copies = placement.layout.data * reservation.copies
    share = -(-job.concurrency // copies)
    loads = tuple(_load(pool, reservation, job, share) for pool in reservation.pools)
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
        per_gpu=_per_gpu(job, reservation, share),
        budget_bytes=max(0, reservation.budget_bytes),
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=min(load.budget_bytes - load.all_expected_bytes for load in loads),
        engine_reserves=reservation.reserves,
        host=Host(ram_bytes=reservation.host_ram_bytes),
        max_context_tokens=_max_context(job, reservation),
        max_concurrency=_max_concurrency(job, reservation) * copies,
        notices=reservation.notices,
    )


def _load(pool: Pool, reservation: Reservation, job: ServingJob, share: int) -> Load:
    """What *pool* holds with one request of the engine's maximum length, and with *share* requests of mean length."""
    cache = _cache_of(pool, reservation)
    one = 0 if cache is None else cache.request_bytes(reservation.longest_tokens)
    every = 0 if cache is None else max(one, cache.total_bytes(share, job.mean_tokens, job.shared_prefix_tokens))
    above = reservation.noise_high_bytes
    return Load(
        pool=pool.name,
        budget_bytes=pool.budget_bytes,
        one_expected_bytes=pool.fixed_expected_bytes + one,
        one_high_bytes=pool.fixed_high_bytes + above + one + _spread_above(job, reservation, one),
        all_expected_bytes=pool.fixed_expected_bytes + every,
        all_high_bytes=pool.fixed_high_bytes + above + every + _spread_above(job, reservation, every),
    )


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


def _per_gpu(job: ServingJob, reservation: Reservation, share: int) -> PerGpu:
    cache = reservation.cache
    one = cache.request_bytes(reservation.longest_tokens)
    everything = max(one, cache.total_bytes(share, job.mean_tokens, job.shared_prefix_tokens))
    weights, activations, overhead = reservation.weights, reservation.activations, reservation.overhead
    state = min(everything, reservation.cache.state_bytes * share)
    resident = reservation.resident_cache_bytes + reservation.resident_state_bytes
    held = everything + resident
    fixed = (weights, activations, overhead)
    low = held + sum(band.low_bytes for band in fixed) - _spread_below(job, reservation, everything)
    total = Band(
        low_bytes=max(0, low - reservation.noise_low_bytes),
        expected_bytes=held + sum(band.expected_bytes for band in fixed),
        high_bytes=held
        + sum(band.high_bytes for band in fixed)
        + _spread_above(job, reservation, everything)
        + reservation.noise_high_bytes,
        basis=weakest(job.basis, *(band.basis for band in fixed)),
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


def _max_concurrency(job: ServingJob, reservation: Reservation) -> int:
    """Requests of mean length that fit beside each other, the shared prefix stored once."""
    most = reservation.most_requests
    for pool in reservation.pools:
        cache = _cache_of(pool, reservation)
        free = pool.budget_bytes - pool.fixed_expected_bytes
        each = 0 if cache is None else cache.request_bytes(job.mean_tokens)
        if free < each:
            return 0
        further = 0 if cache is None else cache.further_bytes(job.mean_tokens, job.shared_prefix_tokens)
        if further:
            most = min(most, 1 + (free - each) // further)
    return most
