"""models.jsonl: the normalised facts of every language model and text encoder of the index."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from cardmatch.catalogue.models import ModelRow, Origin, Verified
from cardmatch.catalogue.names.formats import format_in
from cardmatch.engine.models.checkpoint import requantised
from cardmatch.engine.models.config.dialects import Dialects, load_dialects
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.models.model import read_model
from cardmatch.engine.terms.fault import Invalid
from tools.build_catalogue.files import lines, read_json, read_lines

_DATA = pathlib.Path(__file__).resolve().parents[2] / "service" / "cardmatch" / "catalogue" / "data"
_COMPONENTS = "__"
_CORRECTIONS = pathlib.Path(__file__).with_name("corrections.json")
_BOILERPLATE = "not a verbatim hub file; see params.tsv for verification"


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """The models data file from the index in *shared* and the configurations beside it.

    A configuration that lacks what its size hangs on is left out, and named on the error stream.
    """
    corrections = read_json(_CORRECTIONS)["rows"]
    dialects = load_dialects((_DATA / "dialects.json").read_bytes())
    rows = []
    for row in read_lines(shared / "models_index.jsonl"):
        if _COMPONENTS in row["model"]:
            continue
        try:
            rows.append(_model(shared, row, dialects, corrections.get(row["model"])))
        except Invalid as wrong:
            print(f"left out: {row['model']}: {wrong}", file=sys.stderr)
    return {"models.jsonl": lines(sorted(rows, key=lambda model: model.id))}


def _model(
    shared: pathlib.Path, row: dict[str, Any], dialects: Dialects, correction: dict[str, Any] | None
) -> ModelRow:
    side = shared / "hf_quant_configs" / (row["model"].replace("/", "__") + ".json")
    config = read_json(shared / row["file"])
    notes = [_note(row["notes"])]
    if correction is not None:
        _correct(config, correction["keys"])
        notes.append(f"corrected by {correction['source']}")
    model = read_model(config, dialects, quantization=read_json(side) if side.exists() else None)
    checkpoint, stated = model.checkpoint, format_in(row["model"])
    if stated is not None and stated not in DTYPE_BITS and checkpoint.format in DTYPE_BITS:
        checkpoint = requantised(model.architecture, checkpoint, stated)
        notes.append(f"format {stated} by the repository's name, since its configuration says none")
    return ModelRow(
        id=row["model"],
        architecture=model.architecture,
        checkpoint=checkpoint,
        origin=Origin(row["kind"]),
        source=row["source"],
        verified=Verified(row["verified"]),
        published_parameters=row["n_params_published"] if row["published_kind"] == "published" else None,
        note="; ".join(note for note in notes if note),
    )


def _correct(config: dict[str, Any], keys: dict[str, Any]) -> None:
    for path, value in keys.items():
        *outer, last = path.split("/")
        held = config
        for step in outer:
            held = held[step]
        held[last] = value


def _note(text: str) -> str:
    return "" if text == _BOILERPLATE else text.split(";", maxsplit=1)[0][:200]
