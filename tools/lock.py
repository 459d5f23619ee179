"""Pin what pyproject.toml asks for, with hashes, one file per purpose, naming no index and no path.

Needs `uv` on PATH or beside the Python that runs it. Existing pins are kept; `--upgrade` moves them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PURPOSES: dict[str, list[str]] = {
    "runtime": ["pyproject.toml"],
    "dev": ["pyproject.toml", "--group", "dev", "--constraint", "requirements/runtime.txt"],
    "build": ["--group", "build", "--constraint", "requirements/dev.txt"],
    "contract": ["--group", "contract", "--constraint", "requirements/dev.txt"],
    "redis": ["--group", "redis", "--no-deps"],
}


def lock(uv: str, purpose: str, extra: list[str]) -> None:
    """Write requirements/*purpose*.txt."""
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate"]
    command += ["--output-file", f"requirements/{purpose}.txt", *PURPOSES[purpose], *extra]
    subprocess.run(command, cwd=ROOT, check=True)


def main(extra: list[str]) -> None:
    """Write every file; *extra* goes to uv."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        sys.exit("uv is not installed: `.venv/bin/pip install uv` brings it")
    for purpose in PURPOSES:
        lock(uv, purpose, extra)


if __name__ == "__main__":
    main(sys.argv[1:])
