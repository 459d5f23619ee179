"""k8s/: every object is valid, safe, and fits the others and the service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from kubernetes_validate.utils import all_versions

from cardmatch import __version__, settings
from cardmatch.http.operations import OPERATIONS
from cardmatch.settings import Settings
from tests.deploy.kustomize import Object, render

OVERLAYS = ["dev", "prod"]
NEWEST = sorted(set(all_versions()), key=lambda text: tuple(map(int, text.split("."))))[-2:]
HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request: pytest.FixtureRequest, root: Path) -> list[Object]:
    """Every object of an overlay."""
    return render(root / "k8s" / "overlays" / request.param)


def _of(objects: list[Object], *kinds: str) -> list[Object]:
    return [it for it in objects if it["kind"] in kinds]


def _template(workload: Object) -> Object:
    spec: Object = workload["spec"]
    found: Object = spec["jobTemplate"]["spec"]["template"] if workload["kind"] == "CronJob" else spec["template"]
    return found


def _pods(objects: list[Object]) -> list[Object]:
    return [_template(it) for it in _of(objects, "Deployment", "CronJob")]


def _containers(objects: list[Object]) -> Iterator[Object]:
    for pod in _pods(objects):
        yield from pod["spec"]["containers"]


def _matches(selector: Object, labels: Object) -> bool:
    return selector.items() <= labels.items()


@pytest.mark.parametrize("version", NEWEST)
def test_every_object_passes_the_strict_schema(objects: list[Object], version: str) -> None:
    """Of the two newest minor versions that the schemas know; no unknown field, no wrong type."""
    for each in objects:
        if each["kind"] == "ServiceMonitor":
            jsonschema.validate(each, json.loads((HERE / "servicemonitor.json").read_text()))
        else:
            kubernetes_validate.validate(each, version, strict=True)


def test_two_versions_are_tried() -> None:
    """The list of what the schemas know has some twice."""
    assert len({tuple(version.split(".")[:2]) for version in NEWEST}) == 2


def test_a_misspelt_field_would_be_found(objects: list[Object]) -> None:
    """The schemas are strict indeed."""
    (deployment,) = (it for it in _of(objects, "Deployment") if it["metadata"]["name"] == "cardmatch")
    broken = json.loads(json.dumps(deployment).replace("readinessProbe", "readynessProbe"))
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, NEWEST[-1], strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here")
def test_kubectl_renders_the_same(root: Path, overlay: str) -> None:
    """What the other tests look at is what kubectl would apply, apart from the hash in generated names."""
    folder = root / "k8s" / "overlays" / overlay
    told = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True).stdout
    theirs = yaml.safe_load_all(re.sub(r"(cardmatch-catalogue)-[a-z0-9]{10}", r"\1", told))
    assert sorted(map(_canonical, theirs)) == sorted(map(_canonical, render(folder)))


def _canonical(node: Any) -> str:
    """*node* as text, lists of named things in the order of their names, since no patch keeps it."""
    return json.dumps(_sorted(node), sort_keys=True)


def _sorted(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _sorted(value) for key, value in node.items()}
    if isinstance(node, list):
        items = [_sorted(item) for item in node]
        return (
            sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
            if items and all(isinstance(item, dict) for item in items)
            else items
        )
    return node


def test_every_pod_is_locked_down(objects: list[Object]) -> None:
    """The restricted Pod Security Standard, a read-only root file system, and no token of the cluster's."""
    for pod in _pods(objects):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert not any("hostPath" in volume for volume in spec["volumes"])
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "privileged" not in context


def test_every_container_says_what_it_needs(objects: list[Object]) -> None:
    """Requests for the scheduler, a limit of memory; a limit of CPU would only make answers late."""
    for container in _containers(objects):
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_images_are_pinned_to_a_version(objects: list[Object]) -> None:
    """Never `latest`; ours is the release of this checkout."""
    images = {container["image"] for container in _containers(objects)}
    assert f"registry.example/cardmatch:{__version__}" in images
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?(-\w+)?$", image), image


def test_the_service_is_probed_and_left_in_time(objects: list[Object]) -> None:
    """Three probes at addresses that exist; the grace period is longer than the sleep and the slowest answer."""
    (deployment,) = (it for it in _of(objects, "Deployment") if it["metadata"]["name"] == "cardmatch")
    spec = _template(deployment)["spec"]
    (container,) = spec["containers"]
    probes = {name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert probes == {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] > sleep + Settings().shutdown_timeout_seconds
    assert container["ports"] == [{"name": "http", "containerPort": Settings().bind_port}]
    assert {it["topologyKey"] for it in spec["topologySpreadConstraints"]} == {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    }


def test_every_variable_is_a_setting_that_takes_its_value(objects: list[Object], tmp_path: Path) -> None:
    """A misspelt variable would only be a line in the log of the cluster."""
    keys = tmp_path / "keys"
    keys.write_text(f"team={'0' * 64}\n")
    for container in _containers(objects):
        given = {it["name"]: it.get("value", "redis://localhost") for it in container.get("env", [])}
        if "CARDMATCH_API_KEYS_FILE" in given:
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            assert str(Path(given["CARDMATCH_API_KEYS_FILE"]).parent) in mounts
            given["CARDMATCH_API_KEYS_FILE"] = str(keys)
        assert settings.unknown(given) == []
        settings.read(given)


def test_every_reference_leads_somewhere(objects: list[Object]) -> None:
    """Selectors match pods, targets and config maps exist, mounts have volumes; secrets are listed in the overlay."""
    labels = [pod["metadata"]["labels"] for pod in _pods(objects)]
    names = {(it["kind"], it["metadata"]["name"]) for it in objects}
    for service in _of(objects, "Service"):
        assert any(_matches(service["spec"]["selector"], each) for each in labels)
    for each in _of(objects, "PodDisruptionBudget", "NetworkPolicy", "Deployment"):
        selector = each["spec"].get("selector") or each["spec"]["podSelector"]
        assert any(_matches(selector["matchLabels"], pod) for pod in labels), each["metadata"]
    for monitor in _of(objects, "ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        assert any(_matches(wanted, it["metadata"]["labels"]) for it in _of(objects, "Service"))
    for scaler in _of(objects, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in names
        (scaled,) = (it for it in objects if (it["kind"], it["metadata"]["name"]) == (target["kind"], target["name"]))
        assert "replicas" not in scaled["spec"], "two would say how many"
    for pod in _pods(objects):
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for volume in volumes.values():
            assert ("ConfigMap", volume.get("configMap", {}).get("name")) in names or "configMap" not in volume
        mounted = {mount["name"] for container in pod["spec"]["containers"] for mount in container["volumeMounts"]}
        assert mounted == volumes.keys()


def test_secrets_are_named_and_never_hold_one(objects: list[Object], root: Path) -> None:
    """Each key of the secret is in the development overlay, or in the command at the top of the production overlay."""
    asked = set(re.findall(r'"key": "([\w-]+)"', json.dumps(objects)))
    committed = {key for secret in _of(objects, "Secret") for key in secret["stringData"]}
    command = (root / "k8s/overlays/prod/kustomization.yaml").read_text()
    assert asked
    assert {key for key in asked - committed if f"{key}=" not in command} == set()
    for secret in _of(objects, "Secret"):
        assert "@" not in json.dumps(secret["stringData"])


def test_every_pod_is_behind_a_network_policy_both_ways(objects: list[Object]) -> None:
    """What no policy selects may talk to everybody."""
    policies = [it["spec"] for it in _of(objects, "NetworkPolicy")]
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies)
    for pod in _pods(objects):
        assert any(_matches(it["podSelector"]["matchLabels"], pod["metadata"]["labels"]) for it in policies)


def test_the_ingress_leads_to_every_operation_and_not_to_the_metrics(root: Path) -> None:
    """An operation that is added must be added there too."""
    (ingress,) = _of(render(root / "k8s/overlays/prod"), "Ingress")
    paths = [it["path"] for it in ingress["spec"]["rules"][0]["http"]["paths"]]
    for operation in OPERATIONS:
        assert any(operation.path == path or operation.path.startswith(f"{path}/") for path in paths), operation.path
    assert not any("/metrics".startswith(path) for path in paths)


def test_the_refresh_reads_the_overrides_that_are_mounted(objects: list[Object], root: Path) -> None:
    """Its command is one that the command line takes, and the file is one that the importer takes."""
    (job,) = _of(objects, "CronJob")
    (container,) = _template(job)["spec"]["containers"]
    folder = container["args"][container["args"].index("--from") + 1]
    assert folder in [mount["mountPath"] for mount in container["volumeMounts"]]
    assert container["args"][:2] == ["catalogue", "refresh"]
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
