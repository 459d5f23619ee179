"""The public call of the memory room for serving: what a job needs, and what becomes of it on each placement."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.advisories import advisories
from cardmatch.engine.memory.answer import KvCache, Need, PlacementEstimate
from cardmatch.engine.memory.assumed import assumed_of_engine
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.write import checkpoint_needed, written
from cardmatch.engine.memory.engines.registry import arranged
from cardmatch.engine.memory.explain.explain import explain
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob, Spread
from cardmatch.engine.memory.logs.compare import LogReading
from cardmatch.engine.memory.named import Find, nobody, residents_notices, with_drafter
from cardmatch.engine.memory.need import RULE_OF_THUMB_BYTES_PER_PARAMETER, kv_cache, need
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.profile import profile
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.split import check_layout
from cardmatch.engine.memory.supported import check_card
from cardmatch.engine.memory.told import Told, log_reading, told
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.memory.ways.search import ways_to_fit
from cardmatch.engine.memory.ways.trial import Request, Trial
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.parameters import ParameterCounts
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Severity, notice


class ServingEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of an estimate, before any words."""

    parameters: ParameterCounts
    concurrency: int
    mean_tokens: int
    need: Need
    kv_cache: KvCache
    rule_of_thumb_bytes: int
    placements: tuple[PlacementEstimate, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    engine_log: LogReading | None = None


def estimate_serving(
    architecture: Architecture,
    checkpoint: Checkpoint,
    workload: Inference,
    placements: tuple[Placement, ...],
    calibration: MemoryCalibration,
    *,
    alternatives: tuple[Placement, ...] = (),
    spread: Spread | None = None,
    model: str | None = None,
    published: str | None = None,
    explained: bool = False,
    find: Find = nobody,
) -> ServingEstimate:
    """Estimate *workload* on each of *placements*.

    *alternatives* are further placements that ways to fit may name, best first; without any none is computed.
    *spread* is given for a bare size. *model* is how engines find the model, for the command that starts them,
    and *published* the format that is found there, where it is not the checkpoint's.
    *explained* also gives the reckoning of every placement. *find* resolves the names of drafters and of models that
    share the cards. Raises Invalid with pointers into the request.
    """
    started = told(workload, placements, architecture, checkpoint)
    job, assumptions = settle(started.workload, architecture, checkpoint, spread)
    job = with_drafter(job, find, "/workload/engine/args" if workload.speculative is None else "/workload/speculative")
    source = published or checkpoint.format
    quantised_to = None if job.checkpoint.format == source else job.checkpoint.format
    request = Request(
        calibration=calibration,
        alternatives=alternatives,
        explained=explained,
        residents=workload.also_resident,
        find=find,
    )
    estimates = tuple(
        _estimate_one(_subject(started, job, placement, (model, quantised_to, source)), index, request)
        for index, placement in enumerate(started.placements)
    )
    return _together(started, job, assumptions, estimates, calibration)


def _together(
    started: Told,
    job: ServingJob,
    assumptions: tuple[Assumption, ...],
    estimates: tuple[PlacementEstimate, ...],
    calibration: MemoryCalibration,
) -> ServingEstimate:
    counts = profile(job.architecture, job.checkpoint).parameters
    return ServingEstimate(
        parameters=counts,
        concurrency=job.concurrency,
        mean_tokens=job.mean_tokens,
        need=need(job),
        kv_cache=kv_cache(job),
        rule_of_thumb_bytes=counts.total * RULE_OF_THUMB_BYTES_PER_PARAMETER,
        placements=estimates,
        assumptions=started.assumptions + assumptions + assumed_of_engine(job, started.workload.engine),
        notices=started.notices + notices_of(job),
        engine_log=log_reading(started, job, estimates, calibration),
    )


def _subject(
    started: Told, job: ServingJob, placement: Placement, found: tuple[str | None, str | None, str]
) -> Subject:
    model, quantised_to, published = found
    return Subject(
        model=model,
        quantised_to=quantised_to,
        published=published,
        job=job,
        engine=started.workload.engine,
        placement=placement,
        longest_tokens=job.context_tokens,
    )


def _estimate_one(subject: Subject, index: int, request: Request) -> PlacementEstimate:
    job, engine = subject.job, subject.engine
    check_layout(job.architecture, arranged(engine, subject.placement), index)
    check_card(engine, job.kv_cache, subject.placement.device)
    tried = request.tried(Trial(changes=(), job=job, engine=engine, where=subject.placement))
    where, placed = tried.where, tried.placed
    ways = () if tried.good or not request.alternatives else ways_to_fit(request, tried, index)
    explained = explain(job, engine, where, tried.reservation, request.calibration) if request.explained else None
    others = where.occupied_bytes - subject.placement.occupied_bytes
    return msgspec.structs.replace(
        placed,
        explanation=explained,
        command=_command(subject, where, tried.reservation.longest_tokens),
        ways_to_fit=ways,
        notices=(
            *placed.notices,
            *advisories(job, engine, where, tried.reservation),
            *residents_notices(request.residents, others),
            *_waiting(placed, job),
            *_checkpoint_notices(subject),
        ),
    )


def _waiting(placed: PlacementEstimate, job: ServingJob) -> tuple[Notice, ...]:
    """Where the verdict is about something else, that some requests wait is said beside it."""
    capped = any(each.code is NoticeCode.REQUESTS_CAPPED for each in placed.notices)
    if placed.verdict is not Verdict.TIGHT or placed.max_concurrency >= job.concurrency or capped:
        return ()
    most = placed.max_concurrency
    return (notice(NoticeCode.REQUESTS_WAIT, Severity.CAUTION, max_concurrency=most, concurrency=job.concurrency),)


def _checkpoint_notices(subject: Subject) -> tuple[Notice, ...]:
    if not checkpoint_needed(subject):
        return ()
    engine, wanted = str(subject.engine.__struct_config__.tag), subject.quantised_to or ""
    return (notice(NoticeCode.CHECKPOINT_NEEDED, Severity.CAUTION, model=subject.name, format=wanted, engine=engine),)


def _command(subject: Subject, where: Placement, longest: int) -> str | None:
    """The command for a placement; most placements of a request share it."""
    shared, layout, occupied = subject.job.shared, subject.placement.layout, where.occupied_bytes
    key = ("command", layout, longest, occupied and (occupied, where.device.memory_bytes))
    if key not in shared:
        beside = msgspec.structs.replace(subject.placement, occupied_bytes=occupied)
        shared[key] = written(msgspec.structs.replace(subject, placement=beside, longest_tokens=longest))
    found: str | None = shared[key]
    return found


def notices_of(job: ServingJob) -> tuple[Notice, ...]:
    """What is to be known of *job* wherever it runs."""
    limit = job.architecture.maximum_context_tokens
    if limit is None or job.context_tokens <= limit:
        return ()
    return (
        Notice(
            code=NoticeCode.CONTEXT_BEYOND_MODEL,
            severity=Severity.CAUTION,
            params={"context_tokens": job.context_tokens, "limit_tokens": limit},
        ),
    )
