"""models.jsonl: the normalised facts of every language model and text encoder of the index."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from cardmatch.catalogue.models import ModelRow, Origin, Verified
from cardmatch.engine.models.config.dialects import Dialects, load_dialects
from cardmatch.engine.models.model import read_model
from cardmatch.engine.terms.fault import Invalid
from tools.build_catalogue.files import lines, read_json, read_lines

_DATA = pathlib.Path(__file__).resolve().parents[2] / "service" / "cardmatch" / "catalogue" / "data"
_COMPONENTS = "__"
# One transcription holds constructor arguments only; these are the published configuration's.
_COMPLETIONS: dict[str, dict[str, int]] = {
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": {
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "moe_intermediate_size": 768,
        "num_experts_per_tok": 8,
        "vocab_size": 152064,
        "max_position_embeddings": 65536,
    },
}
_BOILERPLATE = "not a verbatim hub file; see params.tsv for verification"


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """The models data file from the index in *shared* and the configurations beside it.

    A configuration that lacks what its size hangs on is left out, and named on the error stream.
    """
    dialects = load_dialects((_DATA / "dialects.json").read_bytes())
    rows = []
    for row in read_lines(shared / "models_index.jsonl"):
        if _COMPONENTS in row["model"]:
            continue
        try:
            rows.append(_model(shared, row, dialects))
        except Invalid as wrong:
            print(f"left out: {row['model']}: {wrong}", file=sys.stderr)
    return {"models.jsonl": lines(sorted(rows, key=lambda model: model.id))}


def _model(shared: pathlib.Path, row: dict[str, Any], dialects: Dialects) -> ModelRow:
    side = shared / "hf_quant_configs" / (row["model"].replace("/", "__") + ".json")
    config = read_json(shared / row["file"])
    if row["model"] in _COMPLETIONS:
        config["thinker_config"]["text_config"] |= _COMPLETIONS[row["model"]]
    model = read_model(config, dialects, quantization=read_json(side) if side.exists() else None)
    return ModelRow(
        id=row["model"],
        architecture=model.architecture,
        checkpoint=model.checkpoint,
        origin=Origin(row["kind"]),
        source=row["source"],
        verified=Verified(row["verified"]),
        published_parameters=row["n_params_published"] if row["published_kind"] == "published" else None,
        note=_note(row["notes"]),
    )


def _note(text: str) -> str:
    return "" if text == _BOILERPLATE else text.split(";", maxsplit=1)[0][:400]
