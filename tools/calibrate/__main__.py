"""Fit the serving constants from truth cases and write them where the catalogue reads them.

    python -m tools.calibrate [--cases DIR]

Only the constants of the engines that these cases speak of are written; whatever else the file holds stays.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from tests.truth.cases import COMMITTED, Skipped, read_cases
from tests.truth.families.llamacpp import LlamaCppFamily
from tests.truth.families.serving import ServingFamily
from tests.truth.families.transformers import TransformersFamily
from tests.truth.frame import Family
from tests.truth.world import TruthWorld

TARGET = Path(__file__).resolve().parents[2] / "service/cardmatch/catalogue/data/calibration/serving.json"


def fit(cases: Path, world: TruthWorld) -> MemoryCalibration:
    """The calibration that *cases* give; engines without cases keep the catalogue's constants."""
    serving, transformers, llama_cpp = ServingFamily(), TransformersFamily(), LlamaCppFamily()
    found = serving.fit(_prepared(serving, cases, world), world)
    alone = transformers.fit(_prepared(transformers, cases, world), world)
    buffers = llama_cpp.fit(_prepared(llama_cpp, cases, world), world)
    return msgspec.structs.replace(
        found,
        transformers=alone.transformers,
        llama_cpp=buffers.llama_cpp,
        as_of=dt.datetime.now(tz=dt.UTC).date().isoformat(),
    )


def _prepared(family: Family, cases: Path, world: TruthWorld) -> list[Any]:
    found = []
    for case in read_cases(cases, family.name):
        try:
            if case.exclude is None:
                found.append(family.prepare(case, world))
        except Skipped:
            continue
    return found


def written(calibration: MemoryCalibration) -> str:
    """The file's text: two levels of indentation, so that a constant is a line."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=1).decode() + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, default=COMMITTED)
    asked = parser.parse_args()
    TARGET.write_text(written(fit(asked.cases, TruthWorld())), encoding="utf-8")
    print(f"{TARGET}: written")


if __name__ == "__main__":
    main()
