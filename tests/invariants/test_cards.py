"""The card data: every row complete, every figure in its order, every citation defined."""

import pytest

from cardmatch.catalogue.names.spelling import key
from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.card import Card, Ecc, PartitionKind, TransformerEngine, Vendor, VisibleBasis
from cardmatch.engine.terms.units import GIB

WORLD = bundled()
CARDS = list(WORLD.cards.values())
each_card = pytest.mark.parametrize("card", CARDS, ids=[card.id for card in CARDS])


def test_the_vocabulary_is_whole() -> None:
    """Sixty-three cards, sorted by id, with the ones that the buyers' guides name among them."""
    assert len(CARDS) == 63
    assert [card.id for card in CARDS] == sorted(WORLD.cards)
    assert {
        "rtx-4090",
        "a100-sxm-40",
        "a100-pcie-80",
        "a100-sxm-80",
        "h100-sxm-80",
        "h100-nvl-94",
    } <= WORLD.cards.keys()


@each_card
def test_every_citation_is_defined(card: Card) -> None:
    """Each group of figures names a source of the source list."""
    assert set(card.sources.values()) <= WORLD.card_sources.keys()
    assert card.sources.keys() >= {"memory", "memory_bandwidth_gb_s", "tflops_tensor", "ecc", "nvlink", "pcie"}


@each_card
def test_memory_figures_stand_in_order(card: Card) -> None:
    """Engines never see more than the driver shows, nor the driver more than the card has."""
    if card.visible is not None:
        assert card.visible.low_bytes <= card.visible.expected_bytes <= card.visible.high_bytes
        assert card.visible.expected_bytes <= (card.usable_bytes or card.visible.expected_bytes)
    if card.usable_bytes is not None:
        assert card.usable_bytes <= (card.memory_gb + 1) * GIB
    if card.usable_with_ecc_bytes is not None:
        assert card.usable_bytes is not None
        assert card.usable_with_ecc_bytes < card.usable_bytes
        assert card.ecc is Ecc.OPTIONAL


@each_card
def test_rates_stand_in_order(card: Card) -> None:
    """Halving the width slows no card down: FP8 ≥ 16 bits ≥ TF32; BF16 is as fast as FP16 (faster on a Gaudi)."""
    dense = card.dense
    if dense.fp16_tflops and dense.bf16_tflops:
        assert (dense.fp16_tflops == dense.bf16_tflops) or card.vendor is Vendor.INTEL
    sixteen = max(dense.fp16_tflops or 0, dense.bf16_tflops or 0)
    assert sixteen > 0
    assert dense.tf32_tflops is None or dense.tf32_tflops <= sixteen
    assert dense.fp8_tflops is None or dense.fp8_tflops >= sixteen
    assert dense.fp4_tflops is None or dense.fp8_tflops is None or dense.fp4_tflops >= dense.fp8_tflops


@each_card
def test_partitions_fit_the_card(card: Card) -> None:
    """A profile's slices, count, memory and share of the bandwidth agree with the card's."""
    if card.mig is None:
        return
    assert len({profile.name for profile in card.mig.profiles}) == len(card.mig.profiles)
    for profile in card.mig.profiles:
        assert profile.max_count * profile.compute_slices <= card.mig.compute_slices
        assert profile.max_count * profile.memory_slices <= card.mig.memory_slices
        assert profile.max_count <= card.mig.max_instances
        assert profile.bandwidth_share == pytest.approx(profile.memory_slices / card.mig.memory_slices)
        if profile.memory_low_bytes is not None:
            assert profile.memory_high_bytes is not None
            assert profile.memory_low_bytes <= profile.memory_high_bytes
            assert profile.max_count * profile.memory_low_bytes <= (card.usable_bytes or 0)


@each_card
def test_mig_is_nvidias(card: Card) -> None:
    """Only NVIDIA's data-centre cards have MIG; AMD's partition modes are told apart."""
    if card.mig is not None:
        assert (card.mig.kind is PartitionKind.MIG) == (card.vendor is Vendor.NVIDIA)


@each_card
def test_fp8_hardware_agrees_with_the_transformer_engine(card: Card) -> None:
    """The library runs FP8 from compute capability 8.9, and only on NVIDIA's cards (its support matrix)."""
    if card.vendor is Vendor.NVIDIA:
        assert card.compute_capability is not None
        major, minor = map(int, card.compute_capability.split("."))
        assert (card.transformer_engine is not TransformerEngine.NONE) == ((major, minor) >= (8, 9))
        assert (card.dense.fp8_tflops is not None) == ((major, minor) >= (8, 9))
    else:
        assert card.transformer_engine is TransformerEngine.NONE


def test_the_guides_facts_hold() -> None:
    """What the buyers' guides say of the three cards: memory, links, partitions, ECC, FP8, bandwidth."""
    rtx, a100, h100, nvl = (WORLD.cards[card] for card in ("rtx-4090", "a100-sxm-80", "h100-sxm-80", "h100-nvl-94"))
    assert (rtx.memory_gb, rtx.memory_type, rtx.nvlink, rtx.mig, rtx.ecc) == (24, "GDDR6X", None, None, Ecc.OPTIONAL)
    assert rtx.dense.fp8_tflops is not None
    assert a100.dense.fp8_tflops is None
    assert a100.mig is not None
    assert a100.nvlink is not None
    assert (h100.memory_type, h100.bandwidth_gb_s, h100.mig and h100.mig.max_instances) == ("HBM3", 3350, 7)
    assert (nvl.memory_gb, nvl.bandwidth_gb_s) == (94, 3938)
    assert h100.transformer_engine is TransformerEngine.BLOCK
    assert h100.pcie is not None
    assert h100.pcie.generation == 5


def test_an_a100_sees_what_vllm_logged() -> None:
    """The start-up log of vLLM prints 79.25 GiB in all on an A100-SXM4-80GB."""
    visible = WORLD.cards["a100-sxm-80"].visible
    assert visible is not None
    assert visible.expected_bytes == round(79.25 * GIB)
    assert visible.basis is VisibleBasis.OBSERVED


def test_an_h100_slice_has_what_the_driver_lists() -> None:
    """`nvidia-smi mig -lgip` on an H100 80 GB prints 9.75 GiB for 1g.10gb and 39.50 GiB for 3g.40gb."""
    mig = WORLD.cards["h100-sxm-80"].mig
    assert mig is not None
    listed = {profile.name: profile.memory_low_bytes for profile in mig.profiles}
    assert listed["1g.10gb"] == round(9.75 * GIB)
    assert listed["3g.40gb"] == round(39.5 * GIB)


def test_every_name_leads_to_cards_that_exist() -> None:
    """No spelling points at a card without a row."""
    for name, cards in WORLD.card_names.items():
        assert set(cards) <= WORLD.cards.keys(), name


@each_card
def test_a_card_is_found_by_its_id(card: Card) -> None:
    """An id is also a spelling, and means that card alone."""
    assert WORLD.card_names[key(card.id)] == (card.id,)


def test_no_listed_name_is_called_unlisted() -> None:
    """The names of cards without a row are not names of cards with one."""
    assert not WORLD.unlisted_cards & WORLD.card_names.keys()
