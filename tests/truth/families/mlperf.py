"""MLPerf's logs print no lengths; at the lengths of the benchmark's data sets they are printed beside, not marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.speed.calibration import SpeedCalibration
from tests.truth.cases import Case
from tests.truth.families.speed import SpeedFamily
from tests.truth.frame import LeaveOut, Mark, Scored
from tests.truth.world import TruthWorld
from tools.calibrate.speed import Observation

PROMPTS = {
    "llama2-70b": 222,
    "mixtral-8x7b": 427,
    "llama3-8b": 871,
    "gptj-6b": 871,
    "llama3.1-405b": 9429,
    "deepseek-r1": 804,
}
"""Mean tokens of the prompts. Source: token lengths of MLCommons' data sets, row by row, in the repository
openshift-psap/performance-dashboard, mlperf-data/summaries (read 2026-11-30; their mean outputs of 144.84 and 4,043.4
tokens for Mixtral and DeepSeek-R1 are those of MLCommons' READMEs). GPT-J reads the texts of Llama 3.1 8B, CNN and
Daily Mail, which its tokenizer cuts a little differently.
"""

BEAMS = "gptj-6b"
"""Searches with four beams, which predictions know nothing of: a group of its own."""

_MEAN_LATENCY = re.compile(r"mean latency ([\d.]+) ms")


class Little(NamedTuple):
    """Requests at once in a log: its rate times its mean latency."""

    samples_per_second: float
    latency_seconds: float

    @property
    def requests(self) -> int:
        """Little's law."""
        return max(1, round(self.samples_per_second * self.latency_seconds))


class MlperfFamily(SpeedFamily):
    """Rows of speed from MLPerf Inference, set aside for their lengths, at those of the data sets."""

    name = "mlperf"
    files = ("speed",)
    leave_out = LeaveOut.NOTHING
    beside = True

    def about(self, case: Case) -> bool:
        """Whether a row is one of MLPerf's."""
        return case.id.startswith("mlperf-") and super().about(case)

    def completed(self, case: Case) -> Case:
        """The row with its data set's mean prompt, its own log's mean output, and, of servers, requests at once."""
        prompt = next((tokens for name, tokens in PROMPTS.items() if f"-{name}-" in case.id), None)
        rate, samples = case.measured["output_tokens_per_second"], case.measured["samples_per_second"]
        if case.exclude != "lengths not stated" or prompt is None or not rate or not samples:
            return case
        setup = case.setup | {"prompt_tokens": prompt, "output_tokens": round(rate / samples)}
        latency = _MEAN_LATENCY.search(case.note or "")
        if latency:
            setup["concurrency"] = Little(samples, float(latency[1]) / 1e3).requests
        return msgspec.structs.replace(case, setup=setup, exclude=None)

    def prepare(self, case: Case, world: TruthWorld) -> tuple[Case, Observation]:
        """As any row of speed; H100 NVL is a pair of cards under bridges. Raises Skipped."""
        _, seen = super().prepare(case, world)
        pair = 1 < seen.ranks <= seen.chip.nvlink_gpus and not seen.chip.switched
        return case, seen._replace(asked_link=Link.BRIDGE) if pair else seen

    def fit(self, prepared: Sequence[tuple[Case, Observation]], world: TruthWorld) -> SpeedCalibration:
        """What ships: no fit has seen such rows."""
        del prepared
        return world.catalogue.calibration.speed

    def score(self, prepared: tuple[Case, Observation], fitted: SpeedCalibration) -> Scored:
        """As any row of speed, in groups by scenario."""
        case, _ = prepared
        scored = super().score(prepared, fitted)
        scenario = "server" if case.setup["kind"] == "serving_online" else "offline"
        scenario += ", four beams" if BEAMS in case.id else ""
        figures = tuple([msgspec.structs.replace(each, group=f"{each.group}, {scenario}") for each in scored.figures])
        return msgspec.structs.replace(scored, figures=figures)

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """None."""
        del scored
        return ()
