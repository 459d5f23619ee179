"""From an engine's reservation to the verdict on one placement."""

from __future__ import annotations

from cardmatch.engine.memory.answer import Host, PerGpu, PlacementEstimate
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.verdict import Load, Verdict, at_best, worst
from cardmatch.engine.terms.band import Band, weakest


def place(job: ServingJob, placement: Placement, reservation: Reservation) -> PlacementEstimate:
    """Judge *job* on *placement*, given what its engine reserves there."""
    cache = reservation.cache
    share = -(-job.concurrency // placement.layout.data)
    one = cache.request_bytes(reservation.longest_tokens)
    everything = max(one, cache.total_bytes(share, job.mean_tokens, job.shared_prefix_tokens))
    loads = tuple(
        Load(
            pool=pool.name,
            budget_bytes=pool.budget_bytes,
            one_expected_bytes=pool.fixed_expected_bytes + (one if pool.holds_cache else 0),
            one_high_bytes=pool.fixed_high_bytes + (one if pool.holds_cache else 0),
            all_expected_bytes=pool.fixed_expected_bytes + (everything if pool.holds_cache else 0),
            all_high_bytes=pool.fixed_high_bytes + (everything if pool.holds_cache else 0),
        )
        for pool in reservation.pools
    )
    verdict, bound_by = worst(loads)
    if reservation.offloaded:
        verdict = at_best(verdict, Verdict.TIGHT)
    free = min(pool.budget_bytes - pool.fixed_expected_bytes for pool in reservation.pools if pool.holds_cache)
    return PlacementEstimate(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        verdict=verdict,
        bound_by=bound_by,
        per_gpu=_per_gpu(job, reservation, everything, share),
        budget_bytes=max(0, reservation.budget_bytes),
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=min(load.budget_bytes - load.all_expected_bytes for load in loads),
        engine_reserves=reservation.reserves,
        host=Host(ram_bytes=reservation.host_ram_bytes),
        max_context_tokens=cache.max_tokens(free, job.longest_possible_tokens),
        max_concurrency=_max_concurrency(job, reservation, free) * placement.layout.data,
        notices=reservation.notices,
    )


def _per_gpu(job: ServingJob, reservation: Reservation, everything: int, share: int) -> PerGpu:
    weights, activations, overhead = reservation.weights, reservation.activations, reservation.overhead
    state = min(everything, reservation.cache.state_bytes * share)
    resident = reservation.resident_cache_bytes + reservation.resident_state_bytes
    held = everything + resident
    fixed = (weights, activations, overhead)
    total = Band(
        low_bytes=held + sum(band.low_bytes for band in fixed),
        expected_bytes=held + sum(band.expected_bytes for band in fixed),
        high_bytes=held + sum(band.high_bytes for band in fixed),
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


def _max_concurrency(job: ServingJob, reservation: Reservation, free: int) -> int:
    """Requests of mean length that fit beside each other, the shared prefix stored once."""
    cache = reservation.cache
    each = cache.request_bytes(job.mean_tokens)
    if free < each or not each:
        return 0 if each else reservation.most_requests
    further = cache.further_bytes(job.mean_tokens, job.shared_prefix_tokens)
    fitting = 1 + (free - each) // further if further else reservation.most_requests
    return min(fitting, reservation.most_requests)
