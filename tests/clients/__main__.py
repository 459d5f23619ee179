"""Holds openapi/openapi.json to what its readers need: linters, generators of clients, and clients that are answered.

`make contract` runs it. It needs what `tools/bootstrap.py dev contract` puts into .tools/contract.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.serving import serving

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".tools" / "contract"
PROGRAMS = PLACE / "node_modules" / ".bin"
PACKAGES = PLACE / "python"
DOCUMENT = ROOT / "openapi" / "openapi.json"
OWN_RULES = {
    "summary-for-actions", "description-for-actions", "example-of-body", "example-of-parameters", "refusals-listed",
    "refusals-are-problems",
}  # fmt: skip


def run(what: str, command: list[str | Path], **environ: str) -> None:
    """Run *command*; where it fails, say what it said and stop."""
    started = time.monotonic()
    env = {**os.environ, **environ}
    done = subprocess.run(command, cwd=PLACE, env=env, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"== {what} failed\n{done.stdout}{done.stderr}")
    print(f"== {what}: {time.monotonic() - started:.1f} s", flush=True)


def lint() -> None:
    """Both linters find nothing, and ours finds what is wrong with a document that breaks each of our rules."""
    rules: list[str | Path] = ["-r", HERE / "spectral.yaml", "-F", "hint"]
    run("spectral", [PROGRAMS / "spectral", "lint", *rules, DOCUMENT])
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    run("redocly", [PROGRAMS / "redocly", "lint", "--config", HERE / "redocly.yaml", DOCUMENT], **quiet)
    wrong = PLACE / "spoilt.json"
    wrong.write_text(json.dumps(spoilt(json.loads(DOCUMENT.read_text(encoding="utf-8")))), encoding="utf-8")
    command = [PROGRAMS / "spectral", "lint", *rules, "-f", "json", "--quiet", wrong]
    done = subprocess.run(command, cwd=PLACE, check=False, capture_output=True, text=True)
    found = {each["code"] for each in json.loads(done.stdout)}
    if found != OWN_RULES:
        sys.exit(
            f"== our rules do not bite: {sorted(OWN_RULES - found)}, or too much does: {sorted(found - OWN_RULES)}"
        )


def spoilt(document: dict[str, Any]) -> dict[str, Any]:
    """*document* with one fault against each rule of our own."""
    paths = document["paths"]
    paths["/cost"]["post"]["summary"] = paths["/recommend"]["post"]["description"] = "x" * 301
    del paths["/cost"]["post"]["requestBody"]["content"]["application/json"]["example"]
    for parameter in paths["/offers"]["get"]["parameters"]:
        parameter.pop("example", None)
    del paths["/cards"]["get"]["responses"]["422"]
    document["components"]["responses"]["Problem400"]["content"]["application/json"] = {"schema": {}}
    return document


def python_client() -> None:
    """Generate the Python client and check what calls it against its types."""
    shutil.rmtree(PLACE / "cardmatch_client", ignore_errors=True)
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    config: list[str | Path] = ["--config", HERE / "generator.yaml", "--output-path", PLACE / "cardmatch_client"]
    run("python client", [*generate, "--path", DOCUMENT, *config], PYTHONPATH=str(PACKAGES))
    check = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--cache-dir", str(PLACE / "mypy")]
    run("python types", [*check, HERE / "calls.py"], MYPYPATH=str(PLACE))


def typescript_client() -> None:
    """Generate the TypeScript types and compile what uses them, strictly."""
    # A default makes a field of a request optional, not certain; answers have none.
    run(
        "typescript client", [PROGRAMS / "openapi-typescript", DOCUMENT, "--default-non-nullable=false", "-o", "api.ts"]
    )
    shutil.copy(HERE / "calls.ts", PLACE / "calls.ts")
    target = ["--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.iterable", "--outDir", "out"]
    run("typescript types", [PROGRAMS / "tsc", "--strict", "--noUncheckedIndexedAccess", *target, "calls.ts"])


def answered() -> None:
    """Start the service, let both clients ask it everything, and end it."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        url = f"http://127.0.0.1:{server.port}"
        paths = os.pathsep.join([str(PLACE), str(PACKAGES)])
        run("python client is answered", [sys.executable, HERE / "calls.py", url], PYTHONPATH=paths)
        run("typescript client is answered", ["node", PLACE / "out" / "calls.js", url])


if __name__ == "__main__":
    for step in (lint, python_client, typescript_client, answered):
        step()
    print("The document, its clients and the service agree.")
