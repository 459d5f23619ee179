"""What the service must not contain, whatever a linter was told to overlook."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "telnetlib", "ftplib"}


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, str]:
    """Every module of the service, by its path."""
    return {str(path.relative_to(root)): path.read_text() for path in (root / "service").rglob("*.py")}


def test_nothing_is_evaluated_or_unpickled(sources: dict[str, str]) -> None:
    """Neither by name nor through a module that does it."""
    found = []
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
                found.append(f"{path}:{node.lineno} {node.func.id}")
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path} {name}" for name in names if name.split(".")[0] in FORBIDDEN_MODULES]
    assert found == []


def test_no_command_is_run(sources: dict[str, str]) -> None:
    """The service starts no other program."""
    assert [path for path, source in sources.items() if re.search(r"\bsubprocess\b|os\.system|os\.popen", source)] == []


def test_every_security_rule_that_is_overlooked_has_a_reason(sources: dict[str, str]) -> None:
    """`# noqa: S…` is followed by a dash and why."""
    lines = [
        line for source in sources.values() for line in source.splitlines() if re.search(r"noqa: [^-]*\bS\d", line)
    ]
    assert [line for line in lines if not re.search(r"noqa: [A-Z0-9, ]+ - \w+", line)] == []


def test_the_threat_model_is_linked(root: Path) -> None:
    """From where somebody with a finding looks first."""
    assert "docs/security.md" in (root / "SECURITY.md").read_text()
    assert "SECURITY.md" in (root / "docs" / "security.md").read_text()
