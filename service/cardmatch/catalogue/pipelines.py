"""The image and video pipelines of the catalogue, and the names that they go by."""

from __future__ import annotations

import functools
from typing import Annotated

import msgspec
from msgspec import Meta
from rapidfuzz import fuzz, process

from cardmatch.catalogue.bundle import read
from cardmatch.catalogue.models import ModelId
from cardmatch.catalogue.names.words import fold, words
from cardmatch.engine.models.diffusion.component import Pipeline

MOST_SUGGESTIONS = 6
_LEAST_SCORE = 60.0


class PipelineRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One pipeline: its components with their sources, and everyday names in English and Chinese."""

    id: ModelId
    title: Annotated[str, Meta(max_length=120)]
    names: tuple[str, ...] = ()
    repository: Annotated[ModelId | None, Meta(description="Where diffusers loads it from, if not by its id.")] = None
    pipeline: Pipeline


class PipelineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data file."""

    as_of: str
    pipelines: tuple[PipelineRow, ...]


class PipelineIndex(msgspec.Struct, frozen=True, kw_only=True):
    """Rows by id, and every spelling, folded."""

    rows: dict[str, PipelineRow]
    names: dict[str, str]


@functools.cache
def bundled_pipelines() -> PipelineIndex:
    """The pipelines that ship with this release; read once a process."""
    rows = {row.id: row for row in read("pipelines.json", PipelineFile).pipelines}
    names = {fold(name): row.id for row in rows.values() for name in row.names}
    names |= {fold(id_.rpartition("/")[2]): id_ for id_ in rows} | {fold(id_): id_ for id_ in rows}
    return PipelineIndex(rows=rows, names=names)


def named_pipeline(known: PipelineIndex, name: str) -> PipelineRow | None:
    """The pipeline that *name* is a name of; None where it is nobody's."""
    found = known.names.get(fold(name))
    return None if found is None else known.rows[found]


def loose_pipeline(known: PipelineIndex, name: str) -> PipelineRow | None:
    """The one pipeline whose id or names hold every word of *name*, where there is just one."""
    fitting = tuple(matching_pipelines(known, name))
    return known.rows[fitting[0]] if len(fitting) == 1 else None


def matching_pipelines(known: PipelineIndex, query: str) -> frozenset[str]:
    """Ids of the pipelines of which a name holds every word of *query*."""
    asked = frozenset(words(fold(query)))
    return frozenset(id_ for spelled, id_ in known.names.items() if asked and asked <= frozenset(words(spelled)))


def near_pipelines(known: PipelineIndex, name: str, score: float = _LEAST_SCORE) -> tuple[str, ...]:
    """Ids that *name* may be a misspelling of, nearest first."""
    found = process.extract(fold(name), known.names.keys(), scorer=fuzz.WRatio, limit=20, score_cutoff=score)
    return tuple(dict.fromkeys(known.names[spelled] for spelled, _, _ in found))[:MOST_SUGGESTIONS]
