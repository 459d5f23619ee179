"""Score predictions against measured cases and exit 1 where a mark of the design is missed.

python -m tests.truth [--cases DIR] [--only FAMILY] [--configs DIR] [--json OUT] [--write-docs]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from tests.truth.cases import COMMITTED
from tests.truth.configs import lines as config_lines
from tests.truth.configs import score_configs
from tests.truth.document import DOCUMENT, document
from tests.truth.families.registry import FAMILIES
from tests.truth.report import lines
from tests.truth.scoring import Result, cases_of, score_family
from tests.truth.world import TruthWorld


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, default=COMMITTED, help="folder of <family>.jsonl files")
    parser.add_argument("--only", help="one family, or several joined by commas; `configs` is one")
    parser.add_argument("--configs", type=Path, help="folder of config.json files, <owner>__<name>.json")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    parser.add_argument("--write-docs", action="store_true", help="also write docs/accuracy.md")
    asked = parser.parse_args()
    only = asked.only.split(",") if asked.only else None
    world = TruthWorld(asked.configs)
    results: list[Result] = []
    for family in FAMILIES:
        if only is None or family.name in only:
            cases = cases_of(family, asked.cases)
            if cases:
                results.append(score_family(family, cases, world))
                sys.stdout.write("\n".join(lines(results[-1])) + "\n\n")
    configs = score_configs(asked.configs) if asked.configs and (only is None or "configs" in only) else None
    if configs is not None:
        sys.stdout.write("\n".join(config_lines(configs)) + "\n")
    if asked.write_docs:
        DOCUMENT.write_text(document(results), encoding="utf-8")
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    if configs is not None and not configs.met:
        return 1
    return 1 if any(mark.met is False for result in results for mark in result.marks) else 0


if __name__ == "__main__":
    sys.exit(main())
