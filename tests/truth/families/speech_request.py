"""Rows of speech recognition among diffusion_memory's: the request, and the process's memory that was read off."""

from __future__ import annotations

import re

import msgspec

from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.encode.estimate import process
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case
from tests.truth.frame import Figure
from tests.truth.world import TruthWorld


class Speech(msgspec.Struct, frozen=True, kw_only=True):
    """A row as an encoding job."""

    case: Case
    job: EncodeJob


def prepare_speech(case: Case, world: TruthWorld) -> Speech:
    """The row as a request; the note says how long the audio is and how many beams there are. Raises Skipped."""
    model = world.model(case.model)
    note = case.note or ""
    minutes, beams = re.search(r"(\d+) min audio", note), re.search(r"beam (\d+)", note)
    workload = Encode(
        task=EncodeTask.SPEECH,
        batch=case.setup["batch"],
        audio_seconds=60.0 * int(minutes[1]) if minutes else None,
        beams=int(beams[1]) if beams else None,
        weights=case.model.checkpoint or "as_published",
    )
    return Speech(case=case, job=settle(workload, model.architecture, model.checkpoint))


def speech_figure(row: Speech, fitted: DiffusionCalibration) -> Figure:
    """The process's memory."""
    found = process(row.job, row.job.batch, row.job.tokens, fitted.context_bytes.value)
    return Figure(
        group="speech, process",
        predicted=found.expected_bytes / GIB,
        measured=row.case.measured["peak_gib"],
        low=found.low_bytes / GIB,
        high=found.high_bytes / GIB,
    )
