"""SkyPilot's catalogue: every trap in it that is known, row by row."""

import datetime as dt
import pathlib

import pytest

from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.rules import offers_of
from cardmatch.catalogue.importers.skypilot import cloud_of, drafts, newest_files
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.offer import AsOfKind, Offer, PriceKind, Tier

WORLD = bundled()
ORIGIN = Origin(name="vms.csv", as_of=dt.date(2026, 12, 1), as_of_kind=AsOfKind.ESTIMATED)
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region"


def info(name: str, mib: float, count: int = 1) -> str:
    """The GpuInfo cell, a Python literal in quotes."""
    gpu = f"{{'Name': '{name}', 'Count': {count}, 'MemoryInfo': {{'SizeInMiB': {mib}}}}}"
    return f"\"{{'Gpus': [{gpu}], 'TotalGpuMemoryInMiB': {mib}}}\""


def judged(cloud: str, *rows: str, head: str = HEAD) -> tuple[list[Offer], list[Rejection]]:
    """The offers and rejections of a file with *rows*."""
    raw = "\n".join((head, *rows)).encode()
    read = list(drafts(raw, cloud, ORIGIN))
    offers, left = offers_of(WORLD, [row for row in read if isinstance(row, Draft)])
    return offers, [*(row for row in read if isinstance(row, Rejection)), *left]


def one_offer(cloud: str, *rows: str, head: str = HEAD) -> Offer:
    """The only offer of a file without rejections (duplicates apart)."""
    offers, left = judged(cloud, *rows, head=head)
    assert {row.reason for row in left} <= {RejectReason.DUPLICATE}
    (offer,) = offers
    return offer


def reasons(cloud: str, *rows: str, head: str = HEAD) -> list[RejectReason]:
    """Why rows of a file were left out."""
    return [row.reason for row in judged(cloud, *rows, head=head)[1]]


def test_vasts_instance_names_the_card_that_its_accelerator_column_lost() -> None:
    """“H100” with 95830 MiB is an H100 NVL; a spot price of 0.00 is unknown, and the price is a median."""
    offer = one_offer("vast", f'1x-H100_NVL-32-65536,H100,1,32,64.0,{info("H100", 95830)},2.11,0.00,"Bulgaria, BG, EU"')
    assert (offer.card, offer.spot_usd_per_hour, offer.price_kind) == ("h100-nvl-94", None, PriceKind.MARKET_MEDIAN)
    assert (offer.server_country, offer.tier) == ("BG", Tier.MARKETPLACE)


def test_memory_of_all_cards_together_is_understood() -> None:
    """Vast adds up the memory of the instance, here of two H200."""
    row = f'2x-H200-32-65536,H200,2,32,64.0,{info("H200", 287542, 2)},5.20,0.00,"Michigan, US, NA"'
    assert one_offer("vast", row).card_candidates == ("h200-sxm", "h200-nvl")


def test_a_card_with_twice_its_memory_is_refused() -> None:
    """An RTX 4090 with 48 GB is a rebuilt card, not the catalogue's."""
    row = f'1x-RTX_4090-32-65536,RTX4090,1,32,64.0,{info("RTX4090", 49140)},0.41,0.00,"Hong Kong, HK, AS"'
    assert reasons("vast", row) == [RejectReason.CARD_MEMORY_CONFLICT]


def test_one_price_for_two_cards_belongs_to_neither() -> None:
    """Vast's bucket “A100_SXM4” holds 40 and 80 GB cards at one median."""
    rows = [
        f'1x-A100_SXM4-32-65536,A100,1,32,64.0,{info("A100", mib)},0.93,0.00,"Bavaria, DE, EU"'
        for mib in (40960, 81920)
    ]
    assert reasons("vast", *rows) == [RejectReason.PRICE_SHARED_BY_CARDS] * 2
    assert one_offer("vast", rows[1]).card == "a100-sxm-80"


def test_gigabytes_in_the_mebibyte_column_are_understood() -> None:
    """RunPod writes `SizeInMiB: 80`; its spot price repeats the list price; its zones become one offer."""
    head = (
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price,AvailabilityZone,GpuInfo"
    )
    rows = [
        f"2x_A100-80GB_SECURE,A100-80GB,2.0,16.0,234.0,IS,2.78,2.78,EUR-IS-{zone},{info('A100 PCIe', 80, 2)}"
        for zone in (1, 2)
    ]
    offer = one_offer("runpod", *rows, head=head)
    assert (offer.card, offer.gpu_count, offer.usd_per_hour) == ("a100-pcie-80", 2, 2.78)
    assert (offer.spot_usd_per_hour, offer.tier, offer.server_country) == (None, Tier.SECURE, "IS")


def test_a_broker_stands_beside_the_provider() -> None:
    """Shadeform's instance names its cloud and the form of the card; `x8` is the count, not part of the name."""
    row = f"crusoe_A100-80G-sxm4x8,A100-80GB,8.0,96.0,960,{info('A100-80GB', 80, 8)},18.4,,culpeper-usa-1"
    offer = one_offer("shadeform", row)
    assert (offer.provider, offer.broker, offer.tier) == ("crusoe", "shadeform", Tier.BROKERED)
    assert (offer.card, offer.gpu_count, offer.server_country) == ("a100-sxm-80", 8, "US")
    assert offer.id == "crusoe/shadeform-crusoe-a100-80g-sxm4x8/culpeper-usa-1/brokered"


def test_list_and_spot_in_two_rows_become_one_offer() -> None:
    """Prime Intellect's `_SPOT` twin carries the spot price; its memory total grows with the square of the count."""
    head = (
        "InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,Price,SpotPrice"
    )
    json = '"{""Gpus"":[{""Name"":""H200"",""Count"":8,""MemoryInfo"":{""SizeInMiB"":1155072}}]}"'
    rows = [
        f"datacrunch__8xH200_141GB__176,8H200.141S.176V,176.0,1450,H200,8.0,{json},FI,15.97,",
        f"datacrunch__8xH200_141GB__176__SPOT,8H200.141S.176V_SPOT,176.0,1450,H200,8.0,{json},FI,,7.55",
    ]
    offer = one_offer("primeintellect", *rows, head=head)
    assert (offer.provider, offer.instance_type) == ("verda", "8H200.141S.176V")
    assert (offer.usd_per_hour, offer.spot_usd_per_hour) == (15.97, 7.55)


def test_spot_alone_is_an_offer() -> None:
    """Verda leaves Price empty where only spot capacity exists; its form factor is known."""
    json = '"{""Gpus"": [{""Name"": ""H200"", ""Count"": 2, ""MemoryInfo"": {""SizeInMiB"": 144384}}]}"'
    offer = one_offer("verda", f"2H200.141S.88V,H200,2.0,88.0,370.0,{json},,2.373,FIN-02")
    assert (offer.card, offer.usd_per_hour, offer.spot_usd_per_hour) == ("h200-sxm", None, 2.373)
    assert offer.server_country == "FI"


def test_a_price_of_unknown_currency_is_not_dollars() -> None:
    """Seeweb's figure was never converted, so it stands as a native price without a currency."""
    offer = one_offer("seeweb", f"ECS1GPU10,H200,1,32,256.0,{info('H200', 144384)},2.6,,it-fr2")
    assert offer.usd_per_hour is None
    assert offer.price_native is not None
    assert (offer.price_native.amount, offer.price_native.currency) == (2.6, None)


def test_a_memory_of_zero_says_nothing() -> None:
    """Seeweb's RTX PRO 6000 has no memory in the file; its name is enough."""
    row = f"ECS1GPU12,RTX PRO 6000 96GB,1,16,120.0,{info('RTX PRO 6000 96GB', 0)},1.25,,it-fr2"
    assert one_offer("seeweb", row).card == "rtx-pro-6000-blackwell"


def test_a_bid_floor_is_called_one() -> None:
    """Mithril's column holds the lowest bid; a cent for a B200 is refused outright."""
    floor = one_offer("mithril", f"h100-80gb.sxm.8x,H100,8,168,1814,{info('H100', 81920, 8)},8.0,8.0,us-central2-a")
    assert (floor.price_kind, floor.card) == (PriceKind.FLOOR, "h100-sxm-80")
    cent = f"b200.sxm.1x,B200,1,20,200,{info('B200', 184320)},0.01,0.01,us-central2-b"
    assert reasons("mithril", cent) == [RejectReason.PRICE_IMPLAUSIBLE]


GCP = "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice"


def test_a_host_and_its_gpus_are_one_machine() -> None:
    """Google prices them apart: a2-highgpu-2g is the host for 1.62 and two A100 for 5.20."""
    host = "a2-highgpu-2g,24.0,170.0,,,,europe-west4,europe-west4-a,1.62,0.64"
    gpus = f",,,A100,2.0,{info('A100', 40960, 2)},europe-west4,europe-west4-a,5.20,1.90"
    offers, left = judged("gcp", host, gpus, head=GCP)
    (offer,) = offers
    assert (offer.card, offer.gpu_count, offer.usd_per_hour) == ("a100-sxm-40", 2, 6.82)
    assert (offer.spot_usd_per_hour, offer.server_country) == (2.54, "NL")
    assert [row.reason for row in left] == [RejectReason.PRICE_WITHOUT_HOST]


def test_a_host_without_its_gpus_has_no_price() -> None:
    """Half a price is none; a CPU machine is no GPU offer; 700.0 is a placeholder."""
    rows = [
        "a3-highgpu-8g,208,1872,,,,us-east1,us-east1-b,9.5,2.8",
        "n1-highmem-8,8.0,52.0,,,,us-central2,us-central2-b,0.47,0.09",
        ",,,tpu-v6e-128,1,tpu-v6e-128,asia-east1,asia-east1-c,700.0,700.0",
    ]
    expected = [RejectReason.HOST_WITHOUT_GPU_PRICE, RejectReason.NO_GPU, RejectReason.PLACEHOLDER_PRICE]
    assert reasons("gcp", *rows, head=GCP) == expected


def test_a_tpu_slice_counts_its_chips() -> None:
    """tpu-v6e-8 is eight chips; a v5p slice counts cores, two a chip."""
    row = ",,,tpu-v6e-8,1,tpu-v6e-8,us-east1,us-east1-d,21.6,4.4"
    offer = one_offer("gcp", row, head=GCP)
    assert (offer.card, offer.gpu_count) == ("tpu-v6e", 8)
    cores = one_offer("gcp", ",,,tpu-v5p-8,1,tpu-v5p-8,us-east1,us-east1-d,16.8,5.0", head=GCP)
    assert (cores.card, cores.gpu_count) == ("tpu-v5p", 4)
    lite = one_offer("gcp", ",,,tpu-v5litepod-4,1,tpu-v5litepod-4,us-east1,us-east1-d,4.8,2.0", head=GCP)
    assert (lite.card, lite.gpu_count) == ("tpu-v5e", 4)


@pytest.mark.parametrize(
    ("cloud", "row", "card"),
    [
        ("lambda", f"gpu_1x_h100_pcie,H100,1.0,26.0,200.0,{info('H100', 81920)},3.29,,us-west-3", "h100-pcie-80"),
        ("nebius", f"gpu-h100-sxm_1gpu-16vcpu-200gb,H100,1,16,200,{info('H100', 81920)},4.5,,eu-north1", "h100-sxm-80"),
        ("azure", f"Standard_NC40ads_H100_v5,H100,1,40,320,{info('H100', 95830)},6.98,,eastus", "h100-nvl-94"),
        ("aws", f"g6e.12xlarge,L40S,4,48,384,{info('L40S', 46068, 4)},10.49,,us-east-1", "l40s"),
        ("oci", f"BM.GPU.H100.8,H100,8,224,2048,{info('H100', 81920, 8)},80,,eu-amsterdam-1", "h100-sxm-80"),
    ],
)
def test_each_clouds_own_instance_names_are_read(cloud: str, row: str, card: str) -> None:
    """The instance says which H100 it is; the accelerator column never does."""
    assert one_offer(cloud, row).card == card


def test_a_part_of_a_card_is_not_a_card() -> None:
    """An eighth of an L4 at an eighth of its price would be the cheapest L4 there is."""
    row = f"g6f.large,L4,0.125,2,8,{info('L4', 2861)},0.2,0.1,us-east-1"
    assert reasons("aws", row) == [RejectReason.FRACTIONAL_GPU]


@pytest.mark.parametrize(
    ("instance", "card"),
    [
        ("p5.48xlarge", "h100-sxm-80"),
        ("p4de.24xlarge", "a100-sxm-80"),
        ("p6-b200.48xlarge", "b200"),
        ("g5.xlarge", "a10g"),
    ],
)
def test_amazons_instances_name_their_card(instance: str, card: str) -> None:
    """By the whole name or by its family, whatever the accelerator column says."""
    accelerator = {"h100-sxm-80": "H100", "a100-sxm-80": "A100-80GB", "b200": "B200", "a10g": "A10G"}[card]
    assert one_offer("aws", f"{instance},{accelerator},8,192,2048,,32.5,,us-east-1").card == card


def test_cards_without_a_row_are_named_as_such() -> None:
    """A 4060 Ti exists, but not in the catalogue; it is never taken for something near."""
    row = f'1x-RTX_4060_Ti-32-65536,RTX4060,1,32,64.0,{info("RTX4060", 16380)},0.13,0.00,"United Kingdom, GB, EU"'
    assert reasons("vast", row) == [RejectReason.CARD_NOT_LISTED]


def test_a_file_that_is_never_refreshed_is_not_believed() -> None:
    """SkyPilot's DigitalOcean prices are years old."""
    row = f"gpu-h100x1-80gb,H100,1,20,240,{info('H100', 81920)},6.74,,tor1"
    assert reasons("do", row) == [RejectReason.DISTRUSTED_SOURCE]


def test_the_day_is_the_end_of_an_unknown_range() -> None:
    """The files carry no date, so a price held at the latest when the file was written."""
    offer = one_offer("aws", f"g6e.12xlarge,L40S,4,48,384,{info('L40S', 46068, 4)},10.49,,us-east-1")
    assert (offer.as_of, offer.as_of_kind) == (dt.date(2026, 12, 1), AsOfKind.ESTIMATED)
    assert offer.as_of_range == (None, dt.date(2026, 12, 1))


@pytest.mark.parametrize("raw", [b"", b"a,b\n1,2\n", b"\xff\xfe", b'InstanceType,Price\n"open'])
def test_what_is_not_a_skypilot_file_is_unreadable_or_empty(raw: bytes) -> None:
    """Another table, another encoding or a broken quote never becomes an offer."""
    try:
        read = list(drafts(raw, "aws", ORIGIN))
    except Unreadable:
        return
    assert not [row for row in read if isinstance(row, Draft)]


def test_only_the_newest_schema_of_a_cloud_is_read(tmp_path: pathlib.Path) -> None:
    """A checkout holds v5 to v9 side by side; images.csv and the like are no price lists."""
    for name in ("v8/aws/vms.csv", "v9/aws/vms.csv", "v8/vast/vms.csv", "v9/aws/images.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD)
    files = newest_files(sorted(tmp_path.rglob("*.csv")))
    assert [(cloud_of(path), path.parts[-3]) for path in files] == [("aws", "v9"), ("vast", "v8")]
