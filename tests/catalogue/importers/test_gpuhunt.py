"""gpuhunt's catalogue: its CSV files, its archive, and its library."""

import datetime as dt
import io
import sys
import types
import zipfile

import pytest

from cardmatch.catalogue.importers import gpuhunt
from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.rules import offers_of
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.offer import AsOfKind, Offer

ORIGIN = Origin(name="catalog.zip", as_of=dt.date(2026, 12, 1), as_of_kind=AsOfKind.EXACT)
HEAD = b"instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor\n"


def judged(provider: str, rows: bytes) -> tuple[list[Offer], list[Rejection]]:
    """The offers and rejections of one provider's file."""
    read = list(gpuhunt.drafts(HEAD + rows, provider, ORIGIN))
    offers, left = offers_of(bundled(), [row for row in read if isinstance(row, Draft)])
    return offers, [*(row for row in read if isinstance(row, Rejection)), *left]


def test_list_and_spot_rows_become_one_offer() -> None:
    """Spot is a column of its own row here; the provider has the catalogue's id."""
    rows = (
        b"gpu_8x_h100_sxm5,us-west-1,31.92,208,1800,8,H100,80,False,,nvidia\n"
        b"gpu_8x_h100_sxm5,us-west-1,15.1,208,1800,8,H100,80,True,,nvidia\n"
    )
    (offer,), left = judged("lambdalabs", rows)
    assert (offer.provider, offer.usd_per_hour, offer.spot_usd_per_hour) == ("lambda", 31.92, 15.1)
    assert [row.reason for row in left] == [RejectReason.DUPLICATE]


def test_a_name_that_lost_its_form_stays_open() -> None:
    """Gpuhunt calls PCIe and SXM alike, so an offer without a telling instance name has candidates."""
    (offer,), _ = judged("runpod", b",EU-RO-1,2.9,16,180,1,H100,80,False,,nvidia\n")
    assert offer.card is None
    assert offer.card_candidates is not None
    assert set(offer.card_candidates) == {"h100-sxm-80", "h100-pcie-80"}


def test_memory_tells_cards_of_one_name_apart() -> None:
    """`A100` with 80 GB is not a 40 GB card; `H100NVL` is a name of its own."""
    (a100, nvl), _ = judged(
        "azure",
        b"x1,eastus,3.67,24,220,1,A100,80,False,,nvidia\nx2,eastus,6.98,40,320,1,H100NVL,94,False,,nvidia\n",
    )
    assert a100.card_candidates == ("a100-sxm-80", "a100-pcie-80")
    assert nvl.card == "h100-nvl-94"


def test_rows_without_a_gpu_and_constants_in_code_are_left_out() -> None:
    """CPU machines are no offers; Crusoe's prices are constants that the vendor has long left behind."""
    _, cpu = judged("aws", b"m5.large,us-east-1,0.096,2,8,0,,,False,,\n")
    assert [row.reason for row in cpu] == [RejectReason.NO_GPU]
    _, crusoe = judged("crusoe", b"a100-80gb-sxm-ib.8x,us-east1-a,15.6,96,960,8,A100,80,False,,nvidia\n")
    assert [row.reason for row in crusoe] == [RejectReason.DISTRUSTED_SOURCE]


def test_an_archive_is_read_file_by_file() -> None:
    """The published catalogue is one zip with a CSV file for each provider."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("aws.csv", HEAD)
        archive.writestr("gcp.csv", HEAD)
    assert [name for name, _ in gpuhunt.unzipped(buffer.getvalue(), "catalog.zip")] == ["aws", "gcp"]
    with pytest.raises(Unreadable):
        list(gpuhunt.unzipped(b"not a zip", "catalog.zip"))


def test_another_table_is_unreadable() -> None:
    """A file without gpuhunt's columns is refused by name."""
    with pytest.raises(Unreadable, match="gpu_name"):
        list(gpuhunt.drafts(b"instance_name,location,price,gpu_count\na,b,1,1\n", "aws", ORIGIN))


def test_the_installed_library_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gpuhunt.query()` answers items with these attributes (version 0.1.34)."""
    item = types.SimpleNamespace(
        provider="vastai",
        instance_name="12345",
        location="IS",
        price=0.35,
        cpu=16,
        memory=64.0,
        gpu_count=1,
        gpu_name="RTX4090",
        gpu_memory=24.0,
        spot=False,
    )
    library = types.ModuleType("gpuhunt")
    library.query = lambda: [item]  # type: ignore[attr-defined] # a stand-in for the optional package
    monkeypatch.setitem(sys.modules, "gpuhunt", library)
    (draft,) = gpuhunt.from_library(ORIGIN)
    assert isinstance(draft, Draft)
    (offer,), _ = offers_of(bundled(), [draft])
    assert (offer.provider, offer.card, offer.usd_per_hour, offer.server_country) == ("vast", "rtx-4090", 0.35, "IS")


def test_a_missing_library_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is an optional extra."""
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    with pytest.raises(Unreadable, match=r"cardmatch\[gpuhunt\]"):
        list(gpuhunt.from_library(ORIGIN))
