"""Speed under load: bands, capacity, copies, and what must hold of any load."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.serving import ServingLoad, serving_speed
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Invalid
from tests.engine.speed.places import LLAMA_70B, seat, shape

KNOWN = bundled().calibration.speed


def _load(**fields: float) -> ServingLoad:
    return ServingLoad(**({"prompt_tokens": 1000, "output_tokens": 250} | fields))


def test_a_card_without_rows_of_the_engine_is_extrapolated_and_wider() -> None:
    """VLLM was measured on H100s, not on L4s."""
    known = serving_speed(shape(), seat("h100-sxm-80"), _load(concurrency=8), KNOWN).output_tokens_per_second
    other = serving_speed(shape(), seat("rtx-a4500"), _load(concurrency=8), KNOWN).output_tokens_per_second
    assert (known.basis, other.basis) == (Basis.CALIBRATED, Basis.EXTRAPOLATED)
    assert other.high / other.expected > known.high / known.expected
    assert other.low / other.expected < known.low / known.expected


def test_two_copies_serve_twice_as_much() -> None:
    """Data parallelism shares nothing."""
    one = serving_speed(shape(), seat("h100-sxm-80"), _load(), KNOWN)
    two = serving_speed(shape(), seat("h100-sxm-80", layout=Layout(data=2)), _load(), KNOWN)
    assert two.capacity_requests_per_second.expected == pytest.approx(2 * one.capacity_requests_per_second.expected)


def test_arrivals_beyond_the_capacity_have_no_latency() -> None:
    """The queue would grow for ever; what is served is the capacity."""
    found = serving_speed(shape(), seat("rtx-4090", slots=32), _load(requests_per_second=500), KNOWN)
    assert not found.sustained
    assert found.latency_seconds is None
    assert found.output_tokens_per_second == found.capacity_output_tokens_per_second


def test_a_load_is_either_concurrent_or_arriving() -> None:
    """Both at once contradict each other."""
    with pytest.raises(Invalid):
        serving_speed(shape(), seat("l40s"), _load(concurrency=2, requests_per_second=1), KNOWN)


@given(concurrency=st.floats(1, 256), tensor=st.sampled_from([1, 2, 4, 8]))
def test_bands_hold_their_expectation_and_percentiles_are_in_order(concurrency: float, tensor: int) -> None:
    """Low ≤ expected ≤ high, p50 ≤ p95, and nothing is faster than the capacity."""
    where = seat("h200-sxm", layout=Layout(tensor=tensor), slots=256)
    found = serving_speed(shape(LLAMA_70B, "fp8"), where, _load(concurrency=concurrency), KNOWN)
    assert found.ttft_seconds is not None
    assert found.tpot_seconds is not None
    assert found.latency_seconds is not None
    for pair in (found.ttft_seconds, found.tpot_seconds, found.latency_seconds):
        assert pair.p50.expected <= pair.p95.expected
        for band in (pair.p50, pair.p95):
            assert band.low <= band.expected <= band.high
    assert found.utilisation <= 1 + 1e-9


def test_more_at_once_is_more_in_all_and_less_for_each() -> None:
    """Batching trades the speed of one for the speed of all."""
    found = [serving_speed(shape(), seat("h100-sxm-80"), _load(concurrency=c), KNOWN) for c in (1, 4, 16, 64, 128)]
    for few, many in itertools.pairwise(found):
        assert many.output_tokens_per_second.expected > few.output_tokens_per_second.expected
        each = many.output_tokens_per_second_per_request.expected
        assert each < few.output_tokens_per_second_per_request.expected
