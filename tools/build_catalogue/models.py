"""models.jsonl: the normalised facts of every language model and text encoder of the index."""

from __future__ import annotations

import pathlib
from typing import Any

import msgspec

from cardmatch.catalogue.models import Model, Origin, Verified
from cardmatch.engine.models.config.dialects import Dialects, load_dialects
from cardmatch.engine.models.config.read import read_config
from cardmatch.engine.models.quantization.read import read_checkpoint
from tools.build_catalogue.files import lines, read_json, read_lines

_DATA = pathlib.Path(__file__).resolve().parents[2] / "service" / "cardmatch" / "catalogue" / "data"
_COMPONENTS = "__"


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """The models data file from the index in *shared* and the configurations beside it."""
    dialects = load_dialects((_DATA / "dialects.json").read_bytes())
    rows = [row for row in read_lines(shared / "models_index.jsonl") if _COMPONENTS not in row["model"]]
    models = sorted((_model(shared, row, dialects) for row in rows), key=lambda model: model.id)
    return {"models.jsonl": lines(models)}


def _model(shared: pathlib.Path, row: dict[str, Any], dialects: Dialects) -> Model:
    config = read_json(shared / row["file"])
    side = shared / "hf_quant_configs" / (row["model"].replace("/", "__") + ".json")
    architecture = read_config(config, dialects)
    return Model(
        id=row["model"],
        architecture=architecture,
        checkpoint=read_checkpoint(architecture, config, read_json(side) if side.exists() else None),
        origin=Origin(row["kind"]),
        source=row["source"],
        verified=Verified(row["verified"]),
        published_parameters=row["n_params_published"] if row["published_kind"] == "published" else None,
        note=_note(row["notes"]),
    )


def _note(text: str) -> str:
    return "" if text == "not a verbatim hub file; see params.tsv for verification" else text.split(";")[0][:400]


def loaded(raw: bytes) -> list[Model]:
    """The rows of a models data file."""
    return msgspec.json.Decoder(Model).decode_lines(raw)
