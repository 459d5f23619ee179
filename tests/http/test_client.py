"""Who a request comes from."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.http.client import address_of


def _scope(peer: str | None, *forwarded: str) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return {"client": (peer, 1) if peer else None, "headers": headers}


def test_without_proxies_the_header_is_only_a_claim() -> None:
    """Whoever could choose their address would have as many budgets as they like."""
    assert address_of(_scope("203.0.113.9", "198.51.100.1"), 0) == "203.0.113.9"


@pytest.mark.parametrize(
    ("forwarded", "proxies", "address"),
    [
        (["198.51.100.1"], 1, "198.51.100.1"),
        (["10.9.9.9, 198.51.100.1"], 1, "198.51.100.1"),
        (["10.9.9.9", "198.51.100.1"], 1, "198.51.100.1"),
        (["10.9.9.9, 198.51.100.1, 10.0.0.2"], 2, "198.51.100.1"),
        (["198.51.100.1"], 2, "198.51.100.1"),
        ([], 1, "203.0.113.9"),
        ([""], 1, "203.0.113.9"),
        (["gibberish"], 1, "unknown"),
        (["a\xff"], 1, "unknown"),
    ],
)
def test_behind_proxies_the_entry_of_the_outermost_counts(forwarded: list[str], proxies: int, address: str) -> None:
    """What stands left of it is what the client wrote."""
    assert address_of(_scope("203.0.113.9", *forwarded), proxies) == address


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "unknown"),
    ],
)
def test_one_subscriber_is_one_client(peer: str | None, address: str) -> None:
    """A subscriber has a /64 of IPv6 addresses, and may write an IPv4 address in either family."""
    assert address_of(_scope(peer), 0) == address
