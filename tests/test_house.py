"""What the repository promises about itself."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

LINES_OF_A_MODULE = 300
LINES_OF_A_FUNCTION = 45
# Written in halves, so that this file does not name what it forbids.
REGISTRIES = [
    "py" + "pi.org",
    "pypi" + ".python.org",
    "python" + "hosted.org",
    "registry.npm" + "js.org",
    "deb.deb" + "ian.org",
    "crates" + ".io",
]
MACHINE_PATH = re.compile(r"(?:^|[^\w.])/(?:work|farm|root|home|Users)/")


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[Path]:
    """The files that are, or are about to be, committed."""
    command = "git ls-files -z --cached --others --exclude-standard 2>&1"
    listing = subprocess.run(["sh", "-c", command], cwd=root, check=False, capture_output=True, text=True)
    if listing.returncode != 0:  # no git, or no history; then everything counts but what tools made
        return [path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0] not in MADE]
    return [path for name in listing.stdout.split("\0") if name and (path := root / name).is_file()]


MADE = {".venv", ".tools", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache"}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_package_registry(tracked: list[Path], root: Path) -> None:
    """Where packages come from is the business of whoever installs, so no registry stands in the repository."""
    named = [
        f"{path.relative_to(root)}: {host}"
        for path in tracked
        if "assets" not in path.parts  # other people's bundles, checked by the docs page's own test
        for host in REGISTRIES
        if host in _text(path)
    ]
    assert named == []


def test_no_file_names_a_path_of_one_machine(tracked: list[Path], root: Path) -> None:
    """Nothing depends on where a checkout lies."""
    named = [
        f"{path.relative_to(root)}: {line.strip()[:80]}"
        for path in tracked
        if "assets" not in path.parts
        for line in _text(path).splitlines()
        if MACHINE_PATH.search(line)
    ]
    assert named == []


def test_modules_and_functions_are_short(tracked: list[Path], root: Path) -> None:
    """A module fits in the head and a function on the screen."""
    long = []
    for path in tracked:
        if path.suffix != ".py" or "assets" in path.parts:
            continue
        source = _text(path)
        if (lines := source.count("\n")) > LINES_OF_A_MODULE:
            long.append(f"{path.relative_to(root)}: {lines} lines")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                span = (node.end_lineno or node.lineno) - node.lineno + 1
                if span > LINES_OF_A_FUNCTION:
                    long.append(f"{path.relative_to(root)}:{node.lineno} {node.name}: {span} lines")
    assert long == []


def test_every_ignored_rule_has_a_reason(root: Path) -> None:
    """A lint rule that is off says why on its own line."""
    lines = (root / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if re.match(r'\s+"[A-Z]+[0-9]*",', line)]
    assert rules
    assert [line for line in rules if not re.search(r'", +# \w', line)] == []


@pytest.mark.parametrize("purpose", ["runtime", "dev", "build", "redis"])
def test_requirements_are_pinned_and_hashed(root: Path, purpose: str) -> None:
    """Every requirement names one version and its hashes; no line names an index or another file."""
    text = (root / "requirements" / f"{purpose}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines
    for line in lines:
        assert re.match(r"[a-z0-9._-]+==\S+( ; [^-]+)? +--hash=sha256:[0-9a-f]{64}", line), line[:100]


def test_requirements_cover_the_project(root: Path) -> None:
    """What pyproject.toml asks for is what the pinned files hold."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {"runtime": project["project"]["dependencies"], **project["dependency-groups"]}
    wanted["dev"] = wanted["dev"] + wanted["runtime"]
    for purpose, requirements in wanted.items():
        pinned = set(
            re.findall(r"(?m)^([a-z0-9._-]+)(?:\[[^]]*\])?==", _text(root / "requirements" / f"{purpose}.txt"))
        )
        names = {re.split(r"[\[<>=!~ ]", requirement)[0].lower() for requirement in requirements}
        assert names - pinned == set(), purpose


def test_ci_only_calls_make_test(root: Path) -> None:
    """What passes on a desk is what passes in CI."""
    script = (root / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in script if line and not line.startswith("#")] == [
        'cd "$(dirname "$0")/.." && exec make test'
    ]
