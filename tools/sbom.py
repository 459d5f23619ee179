"""Print what is installed beside the Python that runs this, as a CycloneDX 1.5 bill of materials."""

from __future__ import annotations

import json
import re
from importlib.metadata import Distribution, distributions
from typing import Any

ROOT = "cardmatch"


def component(found: Distribution) -> dict[str, Any]:
    """One package, under its package URL (the `pkg:` of the purl specification)."""
    name = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
    licence = found.metadata["License-Expression"] or found.metadata["License"] or ""
    told: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{found.version}",
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
    }
    if 0 < len(licence) <= 64:
        told["licenses"] = [{"license": {"name": licence}}]
    return told


def bill() -> dict[str, Any]:
    """The whole bill, in the order of the names."""
    parts = {part["name"]: part for part in map(component, distributions())}
    itself = parts.pop(ROOT)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**itself, "type": "application"}},
        "components": [parts[name] for name in sorted(parts)],
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=1))
