"""Encoders: batches fill the card."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.speed.encoding import encode_speed
from tests.engine.speed.places import seat, shape

KNOWN = bundled().calibration.speed


def test_small_batches_wait_for_the_weights_and_large_ones_for_arithmetic() -> None:
    """One short text reads all weights for itself; hundreds share them, up to the card's rate."""
    model, where = shape(), seat("h100-sxm-80")
    one, many, most = (
        encode_speed(model, where, batch=batch, tokens=16, known=KNOWN).items_per_second.expected
        for batch in (1, 64, 128)
    )
    assert many > 4 * one
    assert most == pytest.approx(many, rel=0.15)
    assert most < 989.4e12 / (2 * 7.5e9 * 16)
