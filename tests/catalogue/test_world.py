"""Worlds follow one another; the last few stay to be pinned."""

import msgspec
import pytest

from cardmatch.catalogue.world import World, bundled, pin, succeed
from cardmatch.engine.terms.fault import FaultCode, Invalid


def version(digit: str) -> World:
    """The bundled World under another name."""
    return msgspec.structs.replace(bundled(), version=digit * 64)


def test_a_new_version_keeps_those_before_it() -> None:
    """The newest of them first, and no more than were asked for."""
    world = version("0")
    for digit in "123456":
        world = succeed(world, version(digit), keep=3)
    assert world.version == "6" * 64
    assert [earlier.version[0] for earlier in world.earlier] == ["5", "4", "3"]
    assert all(earlier.earlier == () for earlier in world.earlier)


def test_a_version_that_returns_is_kept_once() -> None:
    """Publishing what was there before lists no version twice."""
    world = succeed(succeed(version("0"), version("1")), version("0"))
    assert [each.version[0] for each in (world, *world.earlier)] == ["0", "1"]


def test_a_request_may_pin_a_kept_version() -> None:
    """By its whole name or its first digits; without one it gets the current."""
    world = succeed(version("0"), version("1"))
    assert pin(world, None) is world
    assert pin(world, "1" * 64) is world
    assert pin(world, "0" * 64).version == "0" * 64
    assert pin(world, "0" * 8).version == "0" * 64


def test_a_version_that_is_gone_is_refused_with_those_kept() -> None:
    """The fault names what could be pinned instead."""
    world = succeed(version("0"), version("1"))
    with pytest.raises(Invalid) as refusal:
        pin(world, "f" * 64)
    (fault,) = refusal.value.faults
    assert fault.code is FaultCode.CATALOGUE_GONE
    assert fault.params == {"value": "f" * 64, "known": ["1" * 64, "0" * 64]}


def test_the_tag_tells_apart_whatever_a_listing_may_show() -> None:
    """The same version with other versions kept beside it is another answer to GET /catalogue."""
    alone, beside = version("1"), succeed(version("0"), version("1"))
    assert alone.version == beside.version
    assert alone.tag != beside.tag
    assert beside.tag == succeed(version("0"), version("1")).tag
