"""Names of cards: whoever wrote them, they lead to one card, or to the candidates."""

import pytest

from cardmatch.catalogue.names.cards import cards_of_family, resolve_card, resolve_name
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import FaultCode, Invalid

WORLD = bundled()

MEANT = {
    # ids
    "h100-sxm-80": "h100-sxm-80",
    # nvidia-smi, rocm-smi and hl-smi
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80",
    "NVIDIA H100 80GB HBM3": "h100-sxm-80",
    "NVIDIA H100 NVL": "h100-nvl-94",
    "AMD Instinct MI300X OAM": "mi300x",
    "HL-325L": "gaudi3",
    # Kubernetes labels
    "NVIDIA-RTX-6000-Ada-Generation": "rtx-6000-ada",
    "NVIDIA-L40S-SHARED": "l40s",
    # SkyPilot, whose RTX6000-Ada, A6000 and H100-MEGA are three different things
    "RTX6000-Ada": "rtx-6000-ada",
    "A6000": "rtx-a6000",
    "H100-MEGA": "h100-sxm-80",
    "A100-80GB-SXM": "a100-sxm-80",
    # gpuhunt
    "H100NVL": "h100-nvl-94",
    "RTXPRO6000": "rtx-pro-6000-blackwell",
    # Shadeform
    "A100_sxm4_80G": "a100-sxm-80",
    # cloud instance types
    "p5.48xlarge": "h100-sxm-80",
    "ND96asr_v4": "a100-sxm-40",
    "NC40ads_H100_v5": "h100-nvl-94",
    # people
    "4090": "rtx-4090",
    "rtx4090 24g": "rtx-4090",
    "h100 pcie": "h100-pcie-80",
    "Tesla T4": "t4",
    "RTX 6000 48 GB": "rtx-6000-ada",
    "H100 94GB": "h100-nvl-94",
    "tarjeta gráfica RTX 3090": "rtx-3090",
    "una RTX 4090 de 24 GB": "rtx-4090",
    "英伟达 RTX 4090 显卡": "rtx-4090",
    "Ａ１００ SXM 40GB": "a100-sxm-40",
}


@pytest.mark.parametrize("name", MEANT)
def test_a_name_leads_to_its_card(name: str) -> None:
    """Every spelling in use for a card means that card."""
    assert resolve_card(WORLD, name).id == MEANT[name]


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("H100", {"h100-sxm-80", "h100-pcie-80", "h100-nvl-94"}),
        ("A100 80G", {"a100-sxm-80", "a100-pcie-80"}),
        ("RTX 6000", {"quadro-rtx-6000", "rtx-6000-ada", "rtx-pro-6000-blackwell", "rtx-pro-6000-blackwell-max-q"}),
        ("V100-32GB", {"v100-sxm2-32", "v100-pcie-32", "v100s-pcie-32"}),
    ],
)
def test_an_ambiguous_name_is_refused_with_its_candidates(name: str, candidates: set[str]) -> None:
    """A name that several cards share is never settled by guessing."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, name)
    (fault,) = refusal.value.faults
    assert fault.code is FaultCode.AMBIGUOUS_CARD
    assert set(fault.suggestions) == candidates


@pytest.mark.parametrize(
    ("name", "memory_gb", "memory_bytes", "card"),
    [
        ("H100", 94, None, "h100-nvl-94"),
        ("H100", 96, None, "h100-nvl-94"),
        ("H100", None, 95_830 << 20, "h100-nvl-94"),  # nvidia-smi's total on an H100 NVL
        ("RTX6000", 24, None, "quadro-rtx-6000"),
        ("RTX 6000", 47.5, None, "rtx-6000-ada"),  # GiB, as allocators print it
        ("MI200", 64, None, "mi210"),
    ],
)
def test_a_memory_size_settles_a_shared_name(
    name: str, memory_gb: float | None, memory_bytes: int | None, card: str
) -> None:
    """The size may be the marketed one, the driver's, or what an allocator printed."""
    assert resolve_card(WORLD, name, memory_gb=memory_gb, memory_bytes=memory_bytes).id == card


def test_a_memory_size_does_not_choose_between_form_factors() -> None:
    """80 GB leaves both the SXM and the PCIe card."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, "H100", memory_gb=80)
    assert set(refusal.value.faults[0].suggestions) == {"h100-sxm-80", "h100-pcie-80"}


def test_a_size_that_the_card_does_not_have_is_refused() -> None:
    """A 48 GB RTX 4090 is not the catalogue's RTX 4090."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, "RTX 4090 48GB")
    assert refusal.value.faults[0].code is FaultCode.CARD_MEMORY_CONFLICT


def test_a_kubernetes_label_names_card_partition_and_sharing() -> None:
    """GPU feature discovery appends the MIG profile and -SHARED to the product name."""
    named = resolve_name(WORLD, "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb-SHARED")
    assert named.card.id == "a100-sxm-80"
    assert named.mig is not None
    assert named.mig.name == "3g.40gb"
    assert named.shared


def test_a_profile_narrows_a_shared_name() -> None:
    """Only the 40 GB cards have a 1g.5gb."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, "A100-MIG-1g.5gb")
    assert set(refusal.value.faults[0].suggestions) == {"a100-sxm-40", "a100-pcie-40"}


def test_a_profile_that_the_card_lacks_is_refused_with_those_it_has() -> None:
    """The suggestions are the card's own profiles."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, "NVIDIA-H100-80GB-HBM3-MIG-1g.5gb")
    (fault,) = refusal.value.faults
    assert fault.code is FaultCode.UNKNOWN_MIG_PROFILE
    assert "1g.10gb" in fault.suggestions


def test_a_misspelt_card_is_refused_with_the_nearest() -> None:
    """One letter off still finds the card among the suggestions."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, "rtx 4o90")
    (fault,) = refusal.value.faults
    assert fault.code is FaultCode.UNKNOWN_CARD
    assert "rtx-4090" in fault.suggestions


@pytest.mark.parametrize("name", ["RTX 3060", "GeForce RTX 3060 12GB", "Tesla K80"])
def test_a_card_known_elsewhere_is_told_apart_from_nonsense(name: str) -> None:
    """Cards that exist but have no row get a code of their own, so that the answer can ask for their figures."""
    with pytest.raises(Invalid) as refusal:
        resolve_card(WORLD, name)
    assert refusal.value.faults[0].code is FaultCode.CARD_NOT_LISTED


@pytest.mark.parametrize("name", ["", "-", "显卡", "gpu", "\x00", "4" * 500])
def test_a_name_without_a_card_in_it_is_refused(name: str) -> None:
    """Nothing readable is an unknown card, not a crash."""
    with pytest.raises(Invalid):
        resolve_card(WORLD, name)


@pytest.mark.parametrize(
    ("name", "cards"),
    [
        ("H100", ("h100-nvl-94", "h100-pcie-80", "h100-sxm-80")),
        ("nvidia a100", ("a100-pcie-40", "a100-pcie-80", "a100-sxm-40", "a100-sxm-80")),
        ("V100 16GB", ("v100-pcie-16", "v100-sxm2-16")),
        ("rtx-4090", ("rtx-4090",)),
    ],
)
def test_a_family_name_is_all_of_its_cards(name: str, cards: tuple[str, ...]) -> None:
    """In a filter a shared name is not ambiguous: it means every card that it can mean."""
    assert tuple(card.id for card in cards_of_family(WORLD, name)) == cards


def test_a_generation_is_a_family_too() -> None:
    """`hopper` is every card of that architecture."""
    assert {card.architecture for card in cards_of_family(WORLD, "Hopper")} == {"Hopper"}
