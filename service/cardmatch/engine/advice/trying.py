"""One form tried: what the engine reserves, how many requests it holds at once, and how many copies that makes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.candidates import AS_PUBLISHED, Form
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Lot
from cardmatch.engine.advice.pace import Curve, Paces, Waits
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.sizing import Sized, quick_enough, sized
from cardmatch.engine.advice.spilling import Spilled, slowed, spilled
from cardmatch.engine.advice.variant import Variant
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import AnyEngine, arranged, reserve
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.need import need
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.profile import profile, stored_as
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.kv_formats import KvFormat

GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})
_MOST_SLOTS = 256


class Outcome(StrEnum):
    """What became of a form."""

    WORKS = "works"
    DOES_NOT_FIT = "does_not_fit"
    TIGHT = "tight"
    TOO_SLOW = "too_slow"


class Tried(NamedTuple):
    """A form with its job in its formats (null: training), where it lies, its size; `missing_bytes` of each GPU.

    Pictures and encoders have a *variant* instead of a job.
    `spill` is what lies in RAM, where it does not fit otherwise and the request allows that.
    """

    form: Form
    job: ServingJob | None
    placement: Placement
    outcome: Outcome
    size: Sized | None
    missing_bytes: int
    variant: Variant | None = None
    spill: Spilled | None = None


class Trying(msgspec.Struct, kw_only=True):
    """What all forms of one request share; jobs in other formats are made once, and laid on a placement once."""

    job: ServingJob
    engine: AnyEngine
    demand: Demand
    calibration: MemoryCalibration
    presets: Presets
    paces: Paces
    offload: bool
    jobs: dict[tuple[str, str], ServingJob] = {}
    layers: dict[str, int] = {}
    caches: dict[str, int] = {}
    rents: dict[tuple[int, ...], tuple[tuple[Lot, ...], float]] = {}
    laid: dict[tuple[object, ...], tuple[PlacementEstimate, Reservation]] = {}

    @property
    def request_cache_bytes(self) -> int:
        """Cache of one request of mean length over all GPUs, before any engine rounds it."""
        return self.cache_bytes(KvFormat.AUTO)

    @property
    def queued(self) -> bool:
        """Whether requests come at random and must not wait longer than the request says."""
        return self.demand.peak_rate is not None and self.demand.has_target and self.paces.waiting is not None

    def cache_bytes(self, cache: KvFormat) -> int:
        """The same in format *cache*."""
        found = self.caches.get(cache)
        if found is None:
            job = msgspec.structs.replace(self.in_formats(AS_PUBLISHED, cache), concurrency=1)
            found = self.caches[cache] = need(job).kv_cache_bytes
        return found

    def layer_bytes(self, weights: str) -> int:
        """Bytes of the layers' weights in format *weights*: the part that no engine leaves off the GPUs."""
        found = self.layers.get(weights)
        if found is None:
            sums = self.in_formats(weights, KvFormat.AUTO).sums
            found = self.layers[weights] = sum(share.total for share in sums.groups)
        return found

    def in_formats(self, weights: str, cache: KvFormat) -> ServingJob:
        """The job with its weights and its cache in these formats; `auto` leaves the cache as it is."""
        found = self.jobs.get((weights, cache))
        if found is not None:
            return found
        job = self.job
        if weights != AS_PUBLISHED:
            checkpoint = stored_as(job.architecture, job.checkpoint, weights)
            sums = profile(job.architecture, checkpoint).sums
            job = msgspec.structs.replace(job, checkpoint=checkpoint, sums=sums)
        if cache is not KvFormat.AUTO:
            job = msgspec.structs.replace(job, kv_cache=cache, automatic_cache=False)
        self.jobs[weights, cache] = job
        return job

    def lay(self, job: ServingJob, where: Placement) -> tuple[PlacementEstimate, Reservation]:
        """*job*, one of `jobs`, on *where*, with no advice about its limits; ways back come to the same place again."""
        device, layout = where.device, where.layout
        key = (id(job), device.card, device.mig, where.count, layout.tensor, layout.pipeline, where.link, where.nodes)
        found = self.laid.get(key)
        if found is None:
            reservation = reserve(job, self.engine, where, self.calibration)
            found = self.laid[key] = (place(job, where, reservation, limits=False), reservation)
        return found


def tried(shared: Trying, form: Form, cache: KvFormat) -> Tried:
    """*form* with its cache in *cache*, judged for one request and sized for the load."""
    job = shared.in_formats(form.weights, cache)
    where = placement_of(shared.engine, form)
    at_once, outcome, missing = _held(shared, job, where)
    spill = None
    if not at_once and shared.offload:
        spill = spill_of(shared, job, where)
        at_once = _room_beside(job, spill) if spill else 0
    if not at_once:
        return Tried(form, job, where, outcome, None, missing)
    curve = curve_of(shared, job, form, where)
    if spill is not None and curve is not None:
        curve = slowed(curve, spill)
    waits = None if spill is not None or not shared.queued else waits_of(shared, job, form, where)
    size = sized(shared.demand, curve, at_once, shared.presets.busy_share.share, waits)
    return Tried(form, job, where, Outcome.WORKS if size else Outcome.TOO_SLOW, size, 0, spill=spill)


def spill_of(shared: Trying, job: ServingJob, where: Placement) -> Spilled | None:
    """What must lie in RAM for all requests at once, else for one."""
    requests = min(shared.demand.concurrency or 1, _MOST_SLOTS)
    found = spilled(job, shared.engine, where, shared.calibration, requests)
    if found is None and requests > 1:
        found = spilled(job, shared.engine, where, shared.calibration, 1)
    return found


def works_alone(shared: Trying, form: Form, cache: KvFormat) -> bool:
    """Whether one request on one copy of *form* fits and is answered in time, all on the GPUs."""
    if shared.layer_bytes(form.weights) > form.gpus * form.device.memory_high_bytes:
        return False
    job, where = shared.in_formats(form.weights, cache), placement_of(shared.engine, form)
    curve = curve_of(shared, job, form, where)
    if curve is not None and not quick_enough(curve(1), shared.demand):
        return False
    return shared.lay(job, where)[0].verdict in GOOD


def _room_beside(job: ServingJob, spill: Spilled) -> int:
    """Requests at once where a part lies in RAM; slots that are allocated beforehand are as many as it started with."""
    return spill.requests if spill.reservation.resident_cache_bytes else _room(job, spill.reservation)


def placement_of(engine: AnyEngine, form: Form) -> Placement:
    """One copy of *form* as the engine lays it out."""
    where = Placement(device=form.device, count=form.gpus, layout=form.layout, link=form.link, nodes=form.nodes)
    return arranged(engine, where)


def curve_of(shared: Trying, job: ServingJob, form: Form, where: Placement) -> Curve | None:
    """How fast a copy serves, where the speed room can say."""
    serving, demand = shared.paces.serving, shared.demand
    if serving is None:
        return None
    return serving(job, shared.engine, form.card, where, demand.prompt_tokens, demand.output_tokens)


def waits_of(shared: Trying, job: ServingJob, form: Form, where: Placement) -> Waits | None:
    """What requests wait that come at random, where the speed room can say."""
    waiting, demand = shared.paces.waiting, shared.demand
    if waiting is None:
        return None
    lengths = demand.prompt_tokens, demand.output_tokens, float(demand.longest_output_tokens)
    return waiting(job, shared.engine, form.card, where, *lengths)


def estimate(shared: Trying, found: Tried, *, limits: bool = True) -> tuple[PlacementEstimate, Reservation]:
    """The memory of one copy at the load that it was sized for."""
    batch = max(1, round(found.size.batch + 0.499)) if found.size else 1
    job = msgspec.structs.replace(found.job or shared.job, concurrency=batch)
    engine = found.spill.engine if found.spill else shared.engine
    reservation = reserve(job, engine, found.placement, shared.calibration)
    return place(job, found.placement, reservation, limits=limits), reservation


def _held(shared: Trying, job: ServingJob, where: Placement) -> tuple[int, Outcome, int]:
    """Requests that fit at once even at the high end of every band; else why none does, and what is missing."""
    placed, reservation = shared.lay(job, where)
    if placed.verdict is Verdict.DOES_NOT_FIT:
        return 0, Outcome.DOES_NOT_FIT, -placed.headroom_bytes
    if placed.verdict not in GOOD:
        return 0, Outcome.TIGHT, placed.per_gpu.total.high_bytes - placed.budget_bytes
    if reservation.resident_cache_bytes:
        return _slots(shared, job, where), Outcome.WORKS, 0
    return _room(job, reservation), Outcome.WORKS, 0


def _room(job: ServingJob, reservation: Reservation) -> int:
    """Requests of mean length in the pools that the cache shares, the shared prefix stored once."""
    most = reservation.most_requests
    for pool in reservation.pools:
        cache = pool.cache or (reservation.cache if pool.holds_cache else None)
        if cache is None:
            continue
        free = pool.budget_bytes - pool.fixed_high_bytes - reservation.noise_high_bytes
        further = cache.further_bytes(job.mean_tokens, job.shared_prefix_tokens)
        if further:
            most = min(most, 1 + (free - cache.request_bytes(job.mean_tokens)) // further)
    return max(1, most)


def _slots(shared: Trying, job: ServingJob, where: Placement) -> int:
    """Slots of an engine that allocates each beforehand: the most whose cache fits, by halving."""
    low, high = 1, min(shared.demand.concurrency or _MOST_SLOTS, _MOST_SLOTS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        more = msgspec.structs.replace(job, concurrency=middle)
        placed = place(more, where, reserve(more, shared.engine, where, shared.calibration), limits=False)
        if placed.verdict in GOOD:
            low = middle
        else:
            high = middle
    return low
