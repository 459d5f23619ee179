"""pipelines.json: image and video pipelines, from the component configurations of the index and stated facts."""

from __future__ import annotations

import pathlib
from typing import Any

import msgspec

from cardmatch.catalogue.pipelines import PipelineRow
from cardmatch.engine.models.config.dialects import Dialects, load_dialects
from cardmatch.engine.models.diffusion.component import Autoencoder, Guidance, Medium, Named, Pipeline
from cardmatch.engine.models.diffusion.read import read_component
from cardmatch.engine.terms.band import Basis
from tools.build_catalogue.files import one_row_a_line, read_json, read_lines
from tools.build_catalogue.pipeline_facts import PIPELINES, Made
from tools.build_catalogue.pipeline_parts import Stated

AS_OF = "2026-11-30"
_DATA = pathlib.Path(__file__).resolve().parents[2] / "service" / "cardmatch" / "catalogue" / "data"
# Names that mean another thing: Wan's in front of Qwen's pipeline.
_NOT_NAMES = {"通义万相图像"}


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """The pipelines data file."""
    dialects = load_dialects((_DATA / "dialects.json").read_bytes())
    index = {row["model"]: row for row in read_lines(shared / "models_index.jsonl")}
    spoken = read_json(shared / "model_aliases.json")["pipelines"]
    rows = []
    for id_, made in PIPELINES.items():
        names = [name for name in spoken.get(id_, {}).get("names", ()) if name not in _NOT_NAMES]
        pipeline = _pipeline(shared, made, index, dialects)
        both = tuple(dict.fromkeys([*names, *made.names]))
        rows.append(PipelineRow(id=id_, title=made.title, names=both, pipeline=pipeline))
    return {"pipelines.json": one_row_a_line({"as_of": AS_OF}, "pipelines", rows)}


def _pipeline(shared: pathlib.Path, made: Made, index: dict[str, Any], dialects: Dialects) -> Pipeline:
    defaults = dict(made.defaults)
    upcast = defaults.pop("upcast", False)
    defaults["medium"] = Medium(defaults.get("medium", "image"))
    defaults["guidance"] = Guidance(defaults.get("guidance", "batched"))
    named = []
    for name, what in made.components.items():
        found = _named(shared, name, what, index, dialects)
        if upcast and isinstance(found.component, Autoencoder):
            found = msgspec.structs.replace(found, component=msgspec.structs.replace(found.component, upcast=True))
        named.append(found)
    return Pipeline(components=tuple(named), **defaults)


def _named(shared: pathlib.Path, name: str, what: str | Stated, index: dict[str, Any], dialects: Dialects) -> Named:
    if isinstance(what, str):
        row = index[what]
        component = read_component(read_json(shared / row["file"]), dialects)
        return Named(name=name, component=component, source=row["source"][:400])
    component = read_component(what.what, dialects) if isinstance(what.what, dict) else what.what
    basis = Basis.EXACT if what.counted else Basis.RULE_OF_THUMB
    return Named(name=name, component=component, basis=basis, source=what.source)
