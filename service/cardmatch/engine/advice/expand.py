"""Presets: what a reader, a job or a scenario of the guides stands for, filled in where a request leaves it out."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec

from cardmatch.engine.advice.load import SECONDS_OF
from cardmatch.engine.advice.presets import Preset, Presets, Sets
from cardmatch.engine.advice.question import JobOfWork, Load, Wanted
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.encode.workload import Encode
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Scalar

_RATES = (*SECONDS_OF, "concurrency")
_ALTERNATIVES: dict[type[msgspec.Struct], tuple[tuple[str, ...], ...]] = {
    Load: tuple((rate,) for rate in _RATES),
    JobOfWork: (("train_tokens",), ("examples", "mean_tokens_per_example", "epochs"), ("images",), ("items",)),
}
"""Ways to say one thing: a request that says it in one of them is not told another by a preset."""

_OWN_LENGTHS = ("context_tokens", "concurrency", "mean_tokens_per_request")

S = TypeVar("S", bound=msgspec.Struct)
Notes = dict[str, Scalar]


class PresetKind(StrEnum):
    """By what a preset goes: who asks, the kind of job, the situation."""

    PROFILE = "profile"
    JOB = "job"
    SCENARIO = "scenario"


class Used(NamedTuple):
    """A preset that a request names, and the fields that it filled in."""

    kind: PresetKind
    name: str
    preset: Preset
    fields: tuple[str, ...]


class Expanded(NamedTuple):
    """A request with its presets filled in; `workload` is None where neither names one."""

    wanted: Wanted
    workload: msgspec.Struct | None
    assumptions: tuple[Assumption, ...]
    used: tuple[Used, ...]


def expanded(wanted: Wanted, workload: msgspec.Struct | None, presets: Presets) -> Expanded:
    """*wanted* and its *workload* (None: left out), filled in by the presets that it names.

    What a request states goes before its job, that before the scenario, that before the profile. A field that holds
    its default counts as left out. Raises Invalid where a preset is of another kind of workload than the request.
    """
    found = _named(wanted, presets)
    notes: list[Notes] = [{} for _ in found]
    for (_, pointer, _, preset), noted in zip(found, notes, strict=True):
        workload = _workload(workload, preset.sets, pointer, noted)
    for (_, pointer, _, preset), noted in zip(found, notes, strict=True):
        if isinstance(workload, Training) and preset.sets.workload is None and preset.sets.job is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, pointer, field="workload")
        wanted = _filled_in(wanted, workload, preset.sets, noted)
    job = None if wanted.job is None else msgspec.structs.replace(wanted.job, preset=None)
    wanted = msgspec.structs.replace(wanted, job=None if job == JobOfWork() else job)
    assumptions = [Assumption(pointer=pointer, value=value) for noted in notes for pointer, value in noted.items()]
    used = [Used(row[0], row[2], row[3], tuple(noted)) for row, noted in zip(found, notes, strict=True)]
    return Expanded(wanted, workload, tuple(assumptions), tuple(used))


def _named(wanted: Wanted, presets: Presets) -> list[tuple[PresetKind, str, str, Preset]]:
    found = []
    job = wanted.job.preset if wanted.job else None
    if job is not None:
        found.append((PresetKind.JOB, "/job/preset", job.value, presets.jobs[job]))
    if wanted.scenario is not None:
        preset = presets.scenarios[wanted.scenario]
        found.append((PresetKind.SCENARIO, "/scenario", wanted.scenario.value, preset))
    if wanted.profile is not None:
        found.append((PresetKind.PROFILE, "/profile", wanted.profile.value, presets.profiles[wanted.profile]))
    return found


def _workload(asked: msgspec.Struct | None, sets: Sets, pointer: str, notes: Notes) -> msgspec.Struct | None:
    preset = sets.workload
    if preset is None:
        return asked
    if asked is None:
        _note(preset, "/workload", notes)
        return preset
    if type(asked) is not type(preset):
        raise refusal(FaultCode.CONFLICTS_WITH, pointer, field="workload")
    return _filled(asked, preset, "/workload", notes)


def _filled_in(wanted: Wanted, workload: msgspec.Struct | None, sets: Sets, notes: Notes) -> Wanted:
    """*wanted* with its load, job and conditions filled in, as far as they go with the workload."""
    changes: dict[str, Any] = {"constraints": _filled(wanted.constraints, sets.constraints, "/constraints", notes)}
    if sets.job is not None:
        amount = "items" if isinstance(workload, Diffusion) else "images"
        changes["job"] = _filled(wanted.job or JobOfWork(), sets.job, "/job", notes, but=(amount,))
    if sets.load is not None and not any(getattr(workload, field, None) for field in _OWN_LENGTHS):
        ends = changes.get("job", wanted.job) or JobOfWork()
        works = msgspec.structs.replace(ends, preset=None) != JobOfWork()
        other = (*_not_of(workload), *(_RATES if works else ()))
        load = _filled(wanted.load or Load(), sets.load, "/load", notes, but=other)
        changes["load"] = wanted.load if load == Load() else load
    return msgspec.structs.replace(wanted, **changes)


def _not_of(workload: msgspec.Struct | None) -> set[str]:
    """The fields of a load that say nothing of *workload*: pictures have no words, training has no load."""
    fields = set(Load.__struct_fields__)
    if isinstance(workload, Diffusion):
        return fields - {"images_per_hour"}
    if isinstance(workload, Encode):
        return fields - {"items_per_hour"}
    return fields if isinstance(workload, Training) else {"images_per_hour", "items_per_hour"}


def _filled(asked: S, preset: S, pointer: str, notes: Notes, but: Collection[str] = ()) -> S:
    """*asked*, with what it leaves at its defaults taken from *preset*, without the fields of *but*."""
    changes: dict[str, Any] = {}
    spoken = _spoken(asked)
    for field in msgspec.structs.fields(asked):
        mine, theirs = getattr(asked, field.name), getattr(preset, field.name)
        if theirs == field.default or mine != field.default or field.name in but or field.name in spoken:
            continue
        changes[field.name] = theirs
        _note(theirs, f"{pointer}/{field.name}", notes)
    return msgspec.structs.replace(asked, **changes)


def _spoken(asked: msgspec.Struct) -> set[str]:
    """The fields that say in another way what *asked* already says."""
    ways = _ALTERNATIVES.get(type(asked), ())
    said = [way for way in ways if any(getattr(asked, field) is not None for field in way)]
    return {field for way in ways for field in way if said and way not in said}


def _note(value: Any, pointer: str, notes: Notes) -> None:
    """Note *value* at *pointer*: a struct by those of its fields that are not defaults, a list as one line."""
    if isinstance(value, msgspec.Struct):
        kind = value.__struct_config__
        if kind.tag_field is not None:
            notes[f"{pointer}/{kind.tag_field}"] = str(kind.tag)
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            if inner != field.default:
                _note(inner, f"{pointer}/{field.name}", notes)
    elif isinstance(value, tuple):
        notes[pointer] = ", ".join(str(item) for item in value)
    else:
        notes[pointer] = value.value if isinstance(value, StrEnum) else value
