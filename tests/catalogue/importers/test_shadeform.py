"""Shadeform's API: cents, regions, and types that name the form of the card."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.catalogue.importers import shadeform
from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.rules import offers_of
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.offer import AsOfKind, OfferLink

ORIGIN = Origin(name="types", as_of=dt.date(2026, 12, 1), as_of_kind=AsOfKind.EXACT)


def instance(**changes: Any) -> dict[str, Any]:
    """An entry in the form of the API's reference, with *changes*."""
    row: dict[str, Any] = {
        "cloud": "hyperstack",
        "shade_instance_type": "A6000",
        "cloud_instance_type": "gpu_1x_a6000",
        "configuration": {
            "memory_in_gb": 12,
            "storage_in_gb": 256,
            "vcpus": 6,
            "num_gpus": 1,
            "gpu_type": "A6000",
            "interconnect": "pcie",
            "vram_per_gpu_in_gb": 48,
            "os_options": ["ubuntu22.04_cuda12.2_shade_os"],
        },
        "hourly_price": 210,
        "deployment_type": "vm",
        "availability": [
            {"region": "us-central-1", "available": True, "display_name": "US, Wichita, KS"},
            {"region": "montreal-canada-2", "available": False, "display_name": "CA, Montreal"},
        ],
    }
    return {**row, **changes, "configuration": {**row["configuration"], **changes.get("configuration", {})}}


def read(*rows: dict[str, Any]) -> list[Draft | Rejection]:
    """The drafts of an answer with *rows*."""
    return list(shadeform.drafts(msgspec.json.encode({"instance_types": rows}), ORIGIN))


def test_cents_become_dollars_in_every_region() -> None:
    """210 is $2.10; a region that is sold out keeps its price."""
    offers, left = offers_of(bundled(), [row for row in read(instance()) if isinstance(row, Draft)])
    assert left == []
    assert {(offer.region, offer.server_country, offer.usd_per_hour) for offer in offers} == {
        ("us-central-1", "US", 2.1),
        ("montreal-canada-2", "CA", 2.1),
    }
    assert {(offer.card, offer.broker, offer.provider) for offer in offers} == {
        ("rtx-a6000", "shadeform", "hyperstack")
    }


def test_the_type_names_the_form_and_the_count() -> None:
    """`H100_sxm5x8` is eight H100 SXM; an NVLink between PCIe cards is a bridge."""
    eight = {"num_gpus": 8, "gpu_type": "H100", "vram_per_gpu_in_gb": 80, "interconnect": "nvlink"}
    row = instance(cloud="lambdalabs", shade_instance_type="H100_sxm5x8", hourly_price=3192, configuration=eight)
    offers, _ = offers_of(bundled(), [each for each in read(row) if isinstance(each, Draft)])
    assert {(offer.provider, offer.card, offer.gpu_count) for offer in offers} == {("lambda", "h100-sxm-80", 8)}
    assert {offer.link for offer in offers} == {OfferLink.NVSWITCH}


def test_no_gpu_and_no_price_are_told() -> None:
    """CPU types and prices of zero are left out, each with its reason."""
    cpu = read(instance(configuration={"num_gpus": 0}))
    assert [row.reason for row in cpu if isinstance(row, Rejection)] == [RejectReason.NO_GPU]
    free = [row for row in read(instance(hourly_price=0)) if isinstance(row, Draft)]
    assert {row.reason for row in offers_of(bundled(), free)[1]} == {RejectReason.NO_PRICE}


def test_one_bad_entry_does_not_spoil_the_rest() -> None:
    """An entry without its configuration is rejected where it stands."""
    rows = read({"cloud": "x"}, instance())
    assert isinstance(rows[0], Rejection)
    assert (rows[0].reason, rows[0].place) == (RejectReason.MALFORMED, "types#/instance_types/0")
    assert len(rows) == 3


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"error": "unauthorized"}', b"[" * 10_000])
def test_what_is_no_answer_is_unreadable(raw: bytes) -> None:
    """An error page never empties the catalogue."""
    with pytest.raises(Unreadable):
        list(shadeform.drafts(raw, ORIGIN))
