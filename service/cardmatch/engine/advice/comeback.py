"""What would bring a card back: the fewest settings of the request under which it is an option, tried before said.

An obstacle (a condition, a limit, a target, memory) is taken out of the way by setting one or two fields; what then
becomes of the card shows the next obstacle, if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from cardmatch.engine.advice.answer import Setting
from cardmatch.engine.advice.asking import Asking, Step, Ways, constraint_settings
from cardmatch.engine.advice.candidates import AS_PUBLISHED, COUNTS
from cardmatch.engine.advice.choice import Broken
from cardmatch.engine.advice.fate import Fate, nearness
from cardmatch.engine.advice.own import own_id
from cardmatch.engine.advice.question import Load, OffersMode, Wanted
from cardmatch.engine.advice.trying import Outcome
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.terms.notice import Scalar

_MOST_OBSTACLES = 4
_MOST_NODES = 8
_NODES = (4, 8)
_SHARES = (2, 4, 8)
_CENTS = 100
_MOST_GPUS = 4096
_PACE = "min_tokens_per_second_per_user"
_SLOWEST_READ = 2.0
"""Tokens a second: some 90 words a minute, under half of what adults read (238, Brysbaert 2019), help nobody."""

_JOBS = frozenset({"deadline_hours"})
_CONDITIONS = {"ecc": False, "isolation": None}


def comeback(ways: Ways, asking: Asking, card: str, fate: Fate) -> tuple[Setting, ...]:
    """The settings under which *card*, whose *fate* it was to be left out, is an option; none where none is known."""
    settings: tuple[Setting, ...] = ()
    for _ in range(_MOST_OBSTACLES):
        step, fate = _nearest(ways, asking, card, fate)
        if step is None:
            return ()
        settings, asking = settings + step.settings, step.asking
        if step.sure or works(fate):
            return settings
    return ()


def posted(settings: tuple[Setting, ...], card: str, wanted: Wanted) -> tuple[Setting, ...]:
    """*settings* as they can be posted: each pointer once, at its last value, and *card* asked for alone.

    What is dearer than the options shown comes back only when no other card is asked for. A workload that the request
    leaves out takes its kind.
    """
    found = {each.pointer: each for each in settings}
    if any(pointer.startswith("/workload/") for pointer in found):
        found["/workload/kind"] = Setting(pointer="/workload/kind", value="inference")
    if wanted.constraints.cards != (card,):
        found["/constraints/cards"] = Setting(pointer="/constraints/cards", value=[card])
    return tuple(found.values())


def works(fate: Fate) -> bool:
    """Whether the card is an option by itself."""
    return fate.best is not None or fate.bound is not None


def _nearest(ways: Ways, asking: Asking, card: str, fate: Fate) -> tuple[Step | None, Fate]:
    """The first step after which the card works, else the one that brings it nearest."""
    best: tuple[Step | None, Fate] = (None, fate)
    for step in _steps(ways, asking, card, fate):
        if step.sure:
            return step, fate
        found = ways.fate(step.asking, card)
        if works(found):
            return step, found
        if _reached(found) < _reached(best[1]):
            best = (step, found)
    return best


def _reached(fate: Fate) -> tuple[int, float]:
    """How near the card is; conditions come before everything else, so what is past one is nearer."""
    order = {"engine": 13, "offers": 12, None: 0}
    return (order.get(fate.refused, 14), 0.0) if fate.refused else nearness(fate)


def _steps(ways: Ways, asking: Asking, card: str, fate: Fate) -> Iterator[Step]:
    if fate.refused == "offers":
        for fields in ways.openings(asking, card):
            yield _constrained(asking, **fields)
        if asking.wanted.offers_mode is OffersMode.ONLY:
            merged = msgspec.structs.replace(asking.wanted, offers_mode=OffersMode.MERGE)
            setting = Setting(pointer="/offers_mode", value=OffersMode.MERGE.value)
            yield Step((setting,), asking._replace(wanted=merged))
    elif fate.refused == "engine":
        yield from _other_engine(ways, asking, card)
    elif fate.refused is not None:
        yield from _condition(asking, card, fate.refused)
    elif fate.broken is not None:
        yield from _limits(asking, fate.broken)
    elif fate.tried is not None and fate.tried.outcome is Outcome.TOO_SLOW:
        yield from _slower(ways, asking, fate)
    elif fate.tried is not None:
        yield from _roomier(ways, asking, card, fate)


def _condition(asking: Asking, card: str, field: str) -> Iterator[Step]:
    """A condition on cards given up for this one."""
    asked = asking.wanted.constraints
    if field == "cards":
        yield _constrained(asking, cards=(card,))
    elif field == "exclude_cards":
        yield _constrained(asking, exclude_cards=tuple([each for each in asked.exclude_cards if each != card]))
    elif field in _CONDITIONS and not _preset(asking):
        yield _constrained(asking, **{field: _CONDITIONS[field]})


def _preset(asking: Asking) -> bool:
    """Whether a preset is named: it fills in again what is set to its default."""
    wanted = asking.wanted
    return bool(wanted.scenario or wanted.profile or (wanted.job and wanted.job.preset))


def _constrained(asking: Asking, **fields: Any) -> Step:
    return Step(constraint_settings(fields), asking.constrained(**fields))


def _limits(asking: Asking, broken: Broken) -> Iterator[Step]:
    """Every limit that is exceeded, at what it takes."""
    settings = []
    for field, value in ((broken.field, broken.value), *broken.further):
        if field == "max_gpus" and value > _MOST_GPUS:
            return
        if field in _JOBS:
            asking, setting = _later(asking, value)
        elif field == "stock":
            asking, setting = _stocked(asking, broken.offer, int(value))
        else:
            amount: float | int = int(value) if field in {"max_gpus", "max_instances"} else _up(value)
            asking = asking.constrained(**{field: amount})
            setting = Setting(pointer=f"/constraints/{field}", value=amount)
        settings.append(setting)
    yield Step(tuple(settings), asking)


def limits_lifted(asking: Asking, broken: Broken) -> tuple[Setting, ...]:
    """Every limit that an option broke, at what it takes; none where one cannot be lifted."""
    for step in _limits(asking, broken):
        return step.settings
    return ()


def _stocked(asking: Asking, offer: str, machines: int) -> tuple[Asking, Setting]:
    """As many *machines* of the caller's *offer* as it takes."""
    rows = list(asking.wanted.offers)
    index = next(at for at, row in enumerate(rows) if own_id(row) == offer)
    rows[index] = msgspec.structs.replace(rows[index], stock=machines)
    changed = asking._replace(wanted=msgspec.structs.replace(asking.wanted, offers=tuple(rows)))
    return changed, Setting(pointer=f"/offers/{index}/stock", value=machines)


def _later(asking: Asking, hours: float) -> tuple[Asking, Setting]:
    job = msgspec.structs.replace(asking.wanted.job, deadline_hours=_up(hours)) if asking.wanted.job else None
    changed = asking._replace(wanted=msgspec.structs.replace(asking.wanted, job=job))
    return changed, Setting(pointer="/job/deadline_hours", value=_up(hours))


def _up(value: float) -> float:
    """In whole hundredths, not below *value*."""
    near = round(value * _CENTS) / _CENTS
    return near if near >= value else (math.floor(value * _CENTS) + 1) / _CENTS


def _slower(ways: Ways, asking: Asking, fate: Fate) -> Iterator[Step]:
    """The targets that one request alone misses, at what it would meet."""
    yield from _targets_at(ways, asking, ways.targets(asking, fate))


def _targets_at(ways: Ways, asking: Asking, missed: dict[str, float]) -> Iterator[Step]:
    """The targets *missed* set to what is met instead."""
    if not missed:
        return
    if asking.wanted.load is not None:
        settings = tuple([Setting(pointer=f"/load/{name}", value=value) for name, value in missed.items()])
        yield Step(settings, asking.loaded(**missed), sure=ways.sure)
        return
    work = asking.workload
    if work is None or (work.context_tokens, work.concurrency, work.mean_tokens_per_request) != (None, None, None):
        return  # a load beside stated lengths is refused
    prompt, output = ways.lengths
    load = Load(prompt_tokens=prompt, output_tokens=output, concurrency=1, **missed)  # type: ignore[arg-type]
    stated: dict[str, Scalar] = {"prompt_tokens": prompt, "output_tokens": output, "concurrency": 1, **missed}
    changed = asking._replace(wanted=msgspec.structs.replace(asking.wanted, load=load))
    yield Step((Setting(pointer="/load", value=stated),), changed)


def _other_engine(ways: Ways, asking: Asking, card: str) -> Iterator[Step]:
    """Another engine at its defaults, which may run where this one does not."""
    for engine in ways.engines(card):
        if asking.workload is None:
            return
        work = msgspec.structs.replace(asking.workload, engine=engine)
        kind = str(engine.__struct_config__.tag)
        other = Setting(pointer="/workload/engine", value={"kind": kind})
        yield Step((other,), asking._replace(workload=work))
        if work.weights != AS_PUBLISHED:  # a format that the other engine may not have
            setting, free = _as_published(asking, work)
            yield Step((other, setting), free)


def _as_published(asking: Asking, work: Inference) -> tuple[Setting, Asking]:
    """The weights left to the search."""
    free = asking.allowed(weights=None)._replace(workload=msgspec.structs.replace(work, weights=AS_PUBLISHED))
    return Setting(pointer="/workload/weights", value=AS_PUBLISHED), free


def _roomier(ways: Ways, asking: Asking, card: str, fate: Fate) -> Iterator[Step]:
    """What makes room, the smallest change of the request first."""
    asked, allow = asking.wanted.constraints, asking.wanted.allow
    if not allow.multi_gpu:
        yield Step((Setting(pointer="/allow/multi_gpu", value=True),), asking.allowed(multi_gpu=True))
    if asked.max_gpus is not None:
        for count in COUNTS:
            if count > asked.max_gpus:
                yield _constrained(asking, max_gpus=count)
    if asked.link is not None:
        yield _constrained(asking, link=None)
    work = asking.workload
    if work is not None and work.weights != AS_PUBLISHED:
        setting, free = _as_published(asking, work)
        yield Step((setting,), free)
    elif allow.weights is not None:
        yield Step((Setting(pointer="/allow/weights", value=None),), asking.allowed(weights=None))
    yield from _further(ways, asking, card, fate)


def _further(ways: Ways, asking: Asking, card: str, fate: Fate) -> Iterator[Step]:
    """More machines, shorter requests, less on the card."""
    wanted, load = asking.wanted, asking.wanted.load
    room = ways.room(asking, card, fate)
    more = _NODES if asking.workload is None else ()  # how many a run takes is not reckoned beforehand
    for nodes in dict.fromkeys((room.nodes, room.nodes + 1, *more)):
        if wanted.nodes < nodes <= _MOST_NODES and nodes >= room.nodes:
            yield _over_machines(asking, nodes)
    prompt = load.prompt_tokens if load is not None and room.short_of_cache else None
    for share in _SHARES if prompt else ():
        tokens = max(1, (prompt or 1) // share)
        yield Step((Setting(pointer="/load/prompt_tokens", value=tokens),), asking.loaded(prompt_tokens=tokens))
    missed = None if wanted.allow.offload else ways.spilled(asking, fate)
    if missed is not None and missed.get(_PACE, _SLOWEST_READ) >= _SLOWEST_READ:
        yield from _with_offload(ways, asking, missed)


def _over_machines(asking: Asking, nodes: int) -> Step:
    """A copy over *nodes* machines, with whatever keeps it on few GPUs given up."""
    settings: tuple[Setting, ...] = ()
    if not asking.wanted.allow.multi_gpu:
        asking, settings = asking.allowed(multi_gpu=True), (Setting(pointer="/allow/multi_gpu", value=True),)
    if asking.wanted.constraints.max_gpus is not None:
        asking = asking.constrained(max_gpus=None)
        settings += constraint_settings({"max_gpus": None})
    changed = asking._replace(wanted=msgspec.structs.replace(asking.wanted, nodes=nodes))
    return Step((*settings, Setting(pointer="/nodes", value=nodes)), changed)


def _with_offload(ways: Ways, asking: Asking, missed: dict[str, float]) -> Iterator[Step]:
    """Weights in RAM, and the targets that are then missed at what they would be."""
    offloaded = asking.allowed(offload=True)
    setting = Setting(pointer="/allow/offload", value=True)
    if not missed:
        yield Step((setting,), offloaded, sure=ways.sure)
    for step in _targets_at(ways, offloaded, missed):
        yield Step((setting, *step.settings), step.asking, sure=step.sure)
