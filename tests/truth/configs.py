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


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one configuration: refused, or read with what differs from the tables, and its time."""

    model: str
    compared: bool
    refused: str = ""
    difference: str = ""
    cache_compared: bool = False
    cache_difference: str = ""
    milliseconds: float = 0.0


class ConfigScore(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the folder."""

    readings: tuple[Reading, ...]

    @property
    def refused(self) -> dict[str, str]:
        """Models that were refused, with the reason."""
        return {each.model: each.refused for each in self.readings if each.refused}

    @property
    def differences(self) -> dict[str, str]:
        """Models whose total is not the listed one."""
        return {each.model: each.difference for each in self.readings if each.difference}

    @property
    def cache_differences(self) -> dict[str, str]:
        """Models whose cache or state is not the listed one."""
        return {each.model: each.cache_difference for each in self.readings if each.cache_difference}

    @property
    def compared(self) -> int:
        """Configurations with an independent total."""
        return sum(each.compared for each in self.readings)

    @property
    def equal(self) -> int:
        """Those of them whose total is met."""
        return sum(each.compared and not each.refused and not each.difference for each in self.readings)

    @property
    def share(self) -> float:
        """Compared configurations whose total is met."""
        return self.equal / self.compared if self.compared else 1.0

    @property
    def slowest(self) -> Reading | None:
        """The configuration that took longest."""
        return max(self.readings, key=lambda each: each.milliseconds, default=None)

    @property
    def met(self) -> bool:
        """Whether every mark is met: the share, the cache where it is not explained, the time."""
        unexplained = self.cache_differences.keys() - EXPLAINED.keys()
        fast = self.slowest is None or self.slowest.milliseconds <= MILLISECOND
        return self.share >= WANTED_SHARE and not unexplained and fast


def score_configs(folder: Path) -> ConfigScore:
    """Read every file of *folder* and compare it with the tables beside the folder; diffusion components are passed."""
    index = {Path(row["file"]).name: row for row in _lines(folder.parent / "models_index.jsonl")}
    figures = {row["model"]: row for row in _table(folder.parent / "models_params.tsv")}
    read = ((path, path.read_bytes()) for path in sorted(folder.glob("*.json")))
    configs = ((path, json.loads(raw), len(raw)) for path, raw in read)
    return ConfigScore(
        readings=tuple(
            _reading(config, index.get(path.name, {"model": path.stem}), figures, large=size > LARGE_BYTES)
            for path, config, size in configs
            if "_class_name" not in config
        )
    )


def _reading(
    config: dict[str, Any], row: dict[str, Any], figures: dict[str, dict[str, str]], *, large: bool
) -> Reading:
    """Read one configuration and compare it with its rows."""
    dialects = bundled_models().dialects
    model, listed = str(row["model"]), _independent(row)
    try:
        architecture = read_model(config, dialects).architecture
    except Invalid as invalid:
        return Reading(model=model, compared=listed is not None, refused=str(invalid))
    total = parameters(architecture).total
    differs = listed is not None and abs(total / listed - 1) > TOLERANCE
    table = figures.get(model, {})
    modelled = bool(table.get("kv_bytes_per_token_full_bf16"))
    return Reading(
        model=model,
        compared=listed is not None,
        difference=f"{total:,} counted, {listed:,} listed" if differs else "",
        cache_compared=modelled,
        cache_difference=_cache_difference(architecture, table) if modelled else "",
        milliseconds=0.0 if large else _milliseconds(config, dialects),
    )


def lines(score: ConfigScore) -> Iterator[str]:
    """The report."""
    refused, compared = len(score.refused), score.compared
    yield f"configs: {len(score.readings)} read, {refused} refused, {compared} with an independent total"
    met, share = _state(score.share >= WANTED_SHARE), f"{score.share:.1%} ({score.equal}/{compared})"
    yield f"  {met} totals within 0.1 %: {share}"
    for model, difference in score.differences.items():
        yield f"      {model}: {difference}{_why(model)}"
    modelled = sum(each.cache_compared for each in score.readings)
    unexplained = score.cache_differences.keys() - EXPLAINED.keys()
    equal = modelled - len(score.cache_differences)
    yield f"  {_state(not unexplained)} cache and state equal: {equal}/{modelled}"
    for model, difference in score.cache_differences.items():
        yield f"      {model}: {difference}{_why(model)}"
    if score.slowest is not None:
        slowest = score.slowest
        met = _state(slowest.milliseconds <= MILLISECOND)
        yield f"  {met} slowest configuration: {slowest.milliseconds:.2f} ms ({slowest.model})"
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


def _cache_difference(architecture: Architecture, row: dict[str, str]) -> str:
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
    return "" if ours == theirs else f"full, windowed, state {ours} counted, {theirs} listed"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _table(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
