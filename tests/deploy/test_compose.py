"""docker-compose.yml and what it mounts: valid, pinned, and talking of metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cardmatch import __version__, settings

_METRIC = re.compile(r"\bcardmatch_\w+")


@pytest.fixture(scope="module")
def services(root: Path) -> dict[str, Any]:
    """The services by name."""
    found: dict[str, Any] = yaml.safe_load((root / "docker-compose.yml").read_text())["services"]
    return found


def test_the_file_is_valid(root: Path) -> None:
    """By the schema of the Compose specification."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*command, root / "docker-compose.yml"], check=True, capture_output=True)


def test_services_are_pinned_and_locked_down(services: dict[str, Any]) -> None:
    """Ours is this release; no other is `latest`; none has capabilities, and ports are this machine's only."""
    assert services["cardmatch"]["image"] == services["refresh"]["image"] == f"cardmatch:{__version__}"
    for name, service in services.items():
        assert re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)?$", service["image"]), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (Path(__file__).parents[2] / source).exists(), volume


def test_variables_are_settings(services: dict[str, Any]) -> None:
    """Each is known, and takes its value."""
    for name in ("cardmatch", "refresh"):
        assert settings.unknown(services[name]["environment"]) == []
        settings.read(services[name]["environment"])


def test_it_stops_later_than_the_service(services: dict[str, Any]) -> None:
    """Compose kills after ten seconds unless it is told otherwise."""
    grace = int(services["cardmatch"]["stop_grace_period"].removesuffix("s"))
    assert grace > settings.Settings().shutdown_timeout_seconds


@pytest.mark.parametrize(
    "name", ["deploy/prometheus/rules.yml", "deploy/grafana/dashboards/cardmatch.json", "docs/metrics.md"]
)
def test_rules_and_dashboard_ask_for_metrics_that_there_are(root: Path, name: str) -> None:
    """A misspelt metric draws an empty picture and never alarms."""
    text = (root / "docs/metrics.md").read_text()
    known = set(re.findall(r"(?m)^\| `(cardmatch_\w+)`", text))
    for metric in ("cardmatch_request_seconds", "cardmatch_answer_seconds"):
        known |= {f"{metric}_{part}" for part in ("bucket", "sum", "count")}
    found = set(_METRIC.findall((root / name).read_text()))
    assert len(found) >= 6
    assert found - known == set()


def test_rules_have_what_an_alert_needs(root: Path) -> None:
    """A name, an expression, a patience and a sentence, each name once."""
    (group,) = yaml.safe_load((root / "deploy/prometheus/rules.yml").read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names) >= 5
    assert all(rule["for"] and rule["expr"] and rule["annotations"]["summary"] for rule in group["rules"])


def test_the_dashboard_has_panels_that_do_not_overlap(root: Path) -> None:
    """Twelve columns of pictures, each with a title and a source."""
    dashboard = json.loads((root / "deploy/grafana/dashboards/cardmatch.json").read_text())
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(places) == len(set(places)) >= 10
    for panel in dashboard["panels"]:
        assert panel["title"]
        assert all(target["expr"] for target in panel["targets"])
