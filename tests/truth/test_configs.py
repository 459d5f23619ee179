"""The scorer of configurations itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.truth.configs import lines, score_configs

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def folder(path: Path, total: int, cache: int) -> Path:
    """A folder with one readable and one unknown configuration, and tables that claim *total* and *cache*."""
    configs = path / "configs"
    configs.mkdir()
    (configs / "a__b.json").write_text(json.dumps(CONFIG))
    (configs / "c__d.json").write_text(json.dumps({"model_type": "zork"}))
    row = {"model": "a/b", "file": "configs/a__b.json", "n_params_total": total, "params_source": "published"}
    (path / "models_index.jsonl").write_text(json.dumps(row) + "\n")
    columns = ("model", "kv_bytes_per_token_full_bf16", "kv_bytes_per_token_sliding_bf16", "state_bytes_per_seq")
    (path / "models_params.tsv").write_text("\t".join(columns) + f"\na/b\t{cache}\t0\t0\n")
    return configs


def test_a_total_that_is_met_counts(tmp_path: Path) -> None:
    """Llama-3.1-8B: 8,030,261,248 parameters and 131,072 bytes a token; the unknown one is refused, not wrong."""
    score = score_configs(folder(tmp_path, 8_030_261_248, 131_072))
    assert (len(score.readings), score.compared, score.equal) == (2, 1, 1)
    assert list(score.refused) == ["c__d"]
    assert score.differences == {}
    assert score.cache_differences == {}
    assert score.share == 1.0


def test_a_total_that_is_missed_is_shown(tmp_path: Path) -> None:
    """Two in a thousand are too much, and one byte a token is too."""
    score = score_configs(folder(tmp_path, 8_046_000_000, 131_073))
    assert not score.met
    report = "\n".join(lines(score))
    assert report.count("MISSED") == 2
    assert "8,030,261,248 counted, 8,046,000,000 listed" in report
