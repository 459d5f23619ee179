"""Read a folder of config.json files and compare parameters, cache and state with the totals beside it.

The folder's parent holds models_index.jsonl (totals) and models_params.tsv (cache and state); what is not there is not
compared. A refused configuration is listed with its reason: refusing is right, a wrong size never is.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.cache import CacheKind, by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.model import read_model
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import Invalid

WANTED_SHARE = 0.97
TOLERANCE = 1e-3
MILLISECOND = 1.0
LARGE_BYTES = 1 << 18
"""One configuration lists 22,422 modules in two megabytes; the mark is for those of ordinary size."""

# Where the table beside the configurations is not right; each row still counts as a miss.
EXPLAINED = {
    "Qwen/Qwen3-ASR-0.6B": "the total is that of the class's defaults: transformers does not look into thinker_config;"
    " built from the configuration's own sizes it counts 782,426,112, as here",
    "openbmb/MiniCPM3-4B": "the total leaves out norms and counts another attention; a meta-device build of the"
    " configuration gives 4,073,875,968, as here",
    "openbmb/MiniCPM-MoE-8x2B": "the total counts one of the eight experts",
    "mistralai/Mistral-7B-v0.1": "without the key `sliding_window` the class has a window of 4096; null turns it off",
}


class ConfigScore(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the folder. *differences* and *refused* pair a model with the reason."""

    read: int
    compared: int
    equal: int
    refused: dict[str, str]
    differences: dict[str, str]
    cache_compared: int
    cache_differences: dict[str, str]
    slowest_milliseconds: float
    slowest: str

    @property
    def share(self) -> float:
        """Compared configurations whose total is met."""
        return self.equal / self.compared if self.compared else 1.0

    @property
    def met(self) -> bool:
        """Whether every mark is met: the share, the cache where it is not explained, the time."""
        unexplained = self.cache_differences.keys() - EXPLAINED.keys()
        return self.share >= WANTED_SHARE and not unexplained and self.slowest_milliseconds <= MILLISECOND


def score_configs(folder: Path) -> ConfigScore:
    """Read every file of *folder* and compare it with the tables beside the folder."""
    dialects = bundled_models().dialects
    index = {Path(row["file"]).name: row for row in _lines(folder.parent / "models_index.jsonl")}
    figures = {row["model"]: row for row in _table(folder.parent / "models_params.tsv")}
    refused: dict[str, str] = {}
    differences: dict[str, str] = {}
    cache_differences: dict[str, str] = {}
    times: dict[str, float] = {}
    compared = equal = cache_compared = read = 0
    for path in sorted(folder.glob("*.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        if "_class_name" in config:
            continue
        read += 1
        row = index.get(path.name, {"model": path.stem})
        model = str(row["model"])
        independent = _independent(row)
        compared += independent is not None
        try:
            architecture = read_model(config, dialects).architecture
        except Invalid as invalid:
            refused[model] = str(invalid)
            continue
        if path.stat().st_size <= LARGE_BYTES:
            times[model] = _milliseconds(config, dialects)
        if independent is not None:
            total = parameters(architecture).total
            same = abs(total / independent - 1) <= TOLERANCE
            equal += same
            if not same:
                differences[model] = f"{total:,} counted, {independent:,} listed"
        if figures.get(model, {}).get("kv_bytes_per_token_full_bf16"):
            cache_compared += 1
            difference = _cache_difference(architecture, figures[model])
            if difference:
                cache_differences[model] = difference
    slowest = max(times, key=lambda model: times[model], default="")
    return ConfigScore(
        read=read,
        compared=compared,
        equal=equal,
        refused=refused,
        differences=differences,
        cache_compared=cache_compared,
        cache_differences=cache_differences,
        slowest_milliseconds=times.get(slowest, 0.0),
        slowest=slowest,
    )


def lines(score: ConfigScore) -> Iterator[str]:
    """The report."""
    yield f"configs: {score.read} read, {len(score.refused)} refused, {score.compared} with an independent total"
    met, share = _state(score.share >= WANTED_SHARE), f"{score.share:.1%} ({score.equal}/{score.compared})"
    yield f"  {met} totals within 0.1 %: {share}"
    for model, difference in score.differences.items():
        yield f"      {model}: {difference}{_why(model)}"
    unexplained = score.cache_differences.keys() - EXPLAINED.keys()
    yield (
        f"  {_state(not unexplained)} cache and state equal: {score.cache_compared - len(score.cache_differences)}"
        f"/{score.cache_compared}"
    )
    for model, difference in score.cache_differences.items():
        yield f"      {model}: {difference}{_why(model)}"
    yield (
        f"  {_state(score.slowest_milliseconds <= MILLISECOND)} slowest configuration:"
        f" {score.slowest_milliseconds:.2f} ms ({score.slowest})"
    )
    for model, reason in score.refused.items():
        yield f"  refused {model}: {reason}"


def _state(met: bool) -> str:  # noqa: FBT001 - one word for one fact
    return "met   " if met else "MISSED"


def _why(model: str) -> str:
    return f" ({EXPLAINED[model]})" if model in EXPLAINED else ""


def _independent(row: dict[str, Any]) -> int | None:
    """The listed total, where it comes from something else than a formula."""
    source = row.get("params_source") or ""
    total = row.get("n_params_total")
    if total is None or (source.startswith("formula") and "matches published" not in source):
        return None
    return int(total)


def _milliseconds(config: dict[str, Any], dialects: Dialects) -> float:
    """Processor time of reading *config*, best of five."""
    times = []
    for _ in range(5):
        started = time.process_time_ns()
        read_model(config, dialects)
        times.append(time.process_time_ns() - started)
    return min(times) / 1e6


def _cache_difference(architecture: Architecture, row: dict[str, str]) -> str | None:
    """What differs between the cache here and in the table, which leaves indexers and cross-attention apart."""
    growing = windowed = state = 0.0
    for layer in by_layer(architecture):
        state += layer.layers * (2 * layer.convolution_elements + 4 * layer.recurrent_elements)
        if layer.kind is CacheKind.INDEXER or layer.fixed_tokens:
            continue
        size = 2 * layer.layers * layer.elements / layer.tokens_per_entry
        windowed += size if layer.window_tokens else 0
        growing += 0 if layer.window_tokens else size
    ours = (int(growing), int(windowed), int(state))
    columns = ("kv_bytes_per_token_full_bf16", "kv_bytes_per_token_sliding_bf16", "state_bytes_per_seq")
    theirs = tuple(int(float(row[column] or 0)) for column in columns)
    return None if ours == theirs else f"full, windowed, state {ours} counted, {theirs} listed"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _table(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
