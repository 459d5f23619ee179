"""Keep what this version promises: its document and its examples, under openapi/released/VERSION, for tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from cardmatch import __version__

OPENAPI = Path(__file__).resolve().parent.parent / "openapi"


def keep(openapi: Path, version: str) -> Path:
    """Copy the document and the examples of *openapi* to its folder of *version*, replacing what is there."""
    folder = openapi / "released" / version
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(openapi / "examples", folder / "examples")
    shutil.copy(openapi / "openapi.json", folder)
    return folder


def tagged(version: str) -> bool:
    """Whether *version* is out, so that its promise may not change."""
    command = ["git", "tag", "--list", version, f"v{version}"]
    return bool(subprocess.run(command, cwd=OPENAPI, check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    if tagged(__version__):
        sys.exit(f"{__version__} is tagged: what it promised stays. Raise __version__ first.")
    print(f"kept {keep(OPENAPI, __version__).relative_to(OPENAPI.parent)}")
