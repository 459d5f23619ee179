"""What `kubectl kustomize` would make of k8s/, as far as our files use it, for machines without kubectl.

Resources, a namespace, images, strategic merge patches, and generated ConfigMaps without the hash in their names. Where
kubectl is there, a test compares the two.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
# The keys by which Kubernetes merges lists of objects (x-kubernetes-patch-merge-key); other lists are replaced.
MERGE_KEYS = {"containers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath"}
KNOWN = {"apiVersion", "kind", "resources", "namespace", "images", "patches", "configMapGenerator"}


def render(folder: Path) -> list[Object]:
    """Every object of the kustomization in *folder*."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert kustomization.keys() <= KNOWN, "kustomize.py cannot do that yet"
    objects = [it for name in kustomization["resources"] for it in _resource(folder / name)]
    for generator in kustomization.get("configMapGenerator", ()):
        objects = _generated(objects, generator, folder)
    for patch in kustomization.get("patches", ()):
        objects = _patched(objects, yaml.safe_load((folder / patch["path"]).read_text()))
    for image in kustomization.get("images", ()):
        _rename(objects, image["name"], f"{image['newName']}:{image['newTag']}")
    if namespace := kustomization.get("namespace"):
        for each in objects:
            if each["kind"] != "Namespace":
                each["metadata"]["namespace"] = namespace
    return objects


def _resource(path: Path) -> list[Object]:
    return render(path) if path.is_dir() else list(yaml.safe_load_all(path.read_text()))


def _generated(objects: list[Object], generator: Object, folder: Path) -> list[Object]:
    data = {Path(name).name: (folder / name).read_text() for name in generator["files"]}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}
    others = [it for it in objects if (it["kind"], it["metadata"]["name"]) != ("ConfigMap", generator["name"])]
    assert (len(others) < len(objects)) == (generator.get("behavior") == "replace")
    return [*others, made]


def _patched(objects: list[Object], patch: Object) -> list[Object]:
    wanted = (patch["kind"], patch["metadata"]["name"])
    assert [it for it in objects if (it["kind"], it["metadata"]["name"]) == wanted], "a patch of nothing"
    return [merge(it, patch) if (it["kind"], it["metadata"]["name"]) == wanted else it for it in objects]


def merge(base: Object, patch: Object) -> Object:
    """*base* with what *patch* says of it."""
    merged = deepcopy(base)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge(merged[key], value)
        elif key in MERGE_KEYS and key in merged:
            merged[key] = _merge_lists(merged[key], value, MERGE_KEYS[key])
        else:
            merged[key] = deepcopy(value)
    return merged


def _merge_lists(base: list[Object], patch: list[Object], key: str) -> list[Object]:
    rows = {row[key]: row for row in base}
    for row in patch:
        rows[row[key]] = merge(rows[row[key]], row) if row[key] in rows else deepcopy(row)
    return list(rows.values())


def _rename(node: Any, old: str, new: str) -> None:
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _rename(value, old, new)
    if isinstance(node, dict) and node.get("image") == old:
        node["image"] = new
