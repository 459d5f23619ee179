"""Google's rows in SkyPilot's catalogue: host and GPUs have a price each, and neither can be rented alone."""

from __future__ import annotations

import re

from cardmatch.catalogue.importers.draft import number
from cardmatch.catalogue.importers.knowledge import knowledge

Row = dict[str, str]
_HOST = re.compile(r"^(?P<family>[a-z0-9]+-[a-z]+)-(?P<gpus>\d+)g(?:-nolssd)?$")
_G2 = re.compile(r"^g2-standard-(\d+)$")


def whole_machines(rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """The same rows, with hosts that have fixed GPUs priced whole, and GPUs that wait for a host marked as such."""
    gpus = {
        (
            row.get("AcceleratorName"),
            row.get("AcceleratorCount", "").removesuffix(".0"),
            row.get("AvailabilityZone"),
        ): row
        for _, row in rows
        if row.get("AcceleratorName") and not row.get("InstanceType")
    }
    return [(place, _whole(row, gpus)) for place, row in rows]


def _whole(row: Row, gpus: dict[tuple[str | None, str, str | None], Row]) -> Row:
    if row.get("AcceleratorName"):
        apart = not row.get("InstanceType") and not row["AcceleratorName"].startswith("tpu-")
        return {**row, "_gpu_only": "yes"} if apart else row
    card, count = _fixed_gpus(row.get("InstanceType", ""))
    if card is None:
        return row
    gpu = gpus.get((card, str(count), row.get("AvailabilityZone")))
    if gpu is None:
        return {**row, "_host": "yes"}
    prices = {column: _sum(row, gpu, column) for column in ("Price", "SpotPrice")}
    return {**row, **prices, "AcceleratorName": card, "AcceleratorCount": str(count), "GpuInfo": gpu.get("GpuInfo", "")}


def _fixed_gpus(instance: str) -> tuple[str | None, int]:
    """The GPUs that come with a machine type: `a2-highgpu-4g` has four A100."""
    known = knowledge()
    if found := _G2.match(instance):
        return ("L4", known.gcp_g2_gpus[found[1]]) if found[1] in known.gcp_g2_gpus else (None, 0)
    found = _HOST.match(instance)
    if found is None or found["family"] not in known.gcp_hosts:
        return None, 0
    return known.gcp_hosts[found["family"]], int(found["gpus"])


def _sum(host: Row, gpu: Row, column: str) -> str:
    """Both prices together; nothing where either is unknown."""
    parts = number(host.get(column)), number(gpu.get(column))
    return "" if None in parts else f"{sum(part for part in parts if part is not None):.6f}"
