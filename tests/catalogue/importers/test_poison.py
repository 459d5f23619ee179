"""Nothing that a source can say gets a wrong row into the catalogue: it is refused, or it obeys every rule."""

import datetime as dt
import json
import pathlib
import tempfile
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.importers.refresh import Plan, refresh
from cardmatch.catalogue.importers.report import RefreshOutcome
from cardmatch.catalogue.importers.sources import Circumstances, Source, SourceKind
from cardmatch.catalogue.snapshot import decode, encode

BASE = bundled_snapshot()
NAMES = st.sampled_from(
    ["rtx-4090", "H100", "A100 80GB", "l4", "nonsense", "RTX 3060", "A100-SXM4-80GB-MIG-3g.40gb", ""]
)
NUMBERS = st.one_of(st.integers(-5, 2000), st.floats(), st.sampled_from([0, 0.01, 1e300, 2**70]), st.text(max_size=4))
ROW = st.fixed_dictionaries(
    {},
    optional={
        "provider": st.one_of(st.sampled_from(["oci", "acme", "runpod", "!"]), st.text(max_size=8)),
        "broker": st.sampled_from(["shadeform", "x", ""]),
        "card": NAMES,
        "card_candidates": st.lists(st.sampled_from(["l4", "h100-sxm-80", "nothing"]), max_size=3),
        "usd_per_hour": NUMBERS,
        "spot_usd_per_hour": NUMBERS,
        "memory_gb": NUMBERS,
        "gpu_count": NUMBERS,
        "vcpus": NUMBERS,
        "region": st.text(max_size=8),
        "server_country": st.sampled_from(["IS", "XX", "usa", ""]),
        "instance_type": st.text(max_size=12),
        "price_kind": st.sampled_from(["list", "contact", "floor", "free"]),
        "mig_profile": st.sampled_from(["3g.40gb", "9g.9gb", ""]),
        "as_of": st.sampled_from(["2026-11-30", "2027-01-01", "soon"]),
        "id": st.one_of(st.text(max_size=12), st.sampled_from([offer.id for offer in BASE.offers[:5]])),
        "note": st.text(max_size=10),
        "colour": st.just("red"),
    },
)
SLOW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def refreshed(kind: SourceKind, name: str, content: bytes, *, force: bool) -> None:
    """Refresh from a file with *content* and check what must hold whatever it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        circumstances = Circumstances(today=dt.date(2026, 12, 1), environ={})
        plan = Plan(sources=(Source(kind, folder),), circumstances=circumstances, force=force)
        done = refresh(BASE, plan)
    assert problems(done.snapshot) == []
    assert done.snapshot.as_of <= dt.date(2026, 12, 2)
    assert decode(encode(done.snapshot)) == done.snapshot
    if done.report.outcome in {RefreshOutcome.REFUSED, RefreshOutcome.UNREADABLE, RefreshOutcome.UNCHANGED}:
        assert done.snapshot == BASE


@SLOW
@given(rows=st.lists(ROW, max_size=6), force=st.booleans())
def test_no_own_row_poisons_the_catalogue(rows: list[dict[str, Any]], *, force: bool) -> None:
    """Rows of every shape, forced or not: the result obeys every check and survives its own bytes."""
    refreshed(SourceKind.OWN, "prices.json", json.dumps(rows).encode(), force=force)


@SLOW
@given(content=st.binary(max_size=200), name=st.sampled_from(["a.json", "a.jsonl", "a.csv", "a.toml"]))
def test_no_bytes_poison_the_catalogue(content: bytes, name: str) -> None:
    """A file of any bytes is read or refused."""
    refreshed(SourceKind.OWN, name, content, force=True)


CELL = st.one_of(
    NAMES, st.sampled_from(["0", "1", "8", "0.125", "700.0", "nan", "inf", "-1", "us-east-1", "{", "a2-highgpu-1g"])
)
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone"


@SLOW
@given(
    cloud=st.sampled_from(["aws", "gcp", "vast", "shadeform", "primeintellect", "seeweb", "oci"]),
    rows=st.lists(st.lists(CELL, min_size=10, max_size=10), max_size=6),
)
def test_no_table_poisons_the_catalogue(cloud: str, rows: list[list[str]]) -> None:
    """Cells in every column that is read, of every cloud with rules of its own."""
    content = "\n".join([HEAD, *(",".join(row) for row in rows)])
    refreshed(SourceKind.SKYPILOT, f"{cloud}/vms.csv", content.encode(), force=True)
