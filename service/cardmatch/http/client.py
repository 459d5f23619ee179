"""Who a request comes from, as far as its address tells."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from cardmatch.http.asgi import Scope

_SITE = 64


def address_of(scope: Scope, trusted_proxies: int) -> str:
    """The address that the outermost of *trusted_proxies* saw; without proxies, the one that the socket has.

    Each proxy appends to X-Forwarded-For what it saw, so that the last entries are true and the others are claims. An
    IPv6 address counts as its /64, which is what one subscriber gets.
    """
    seen = (scope.get("client") or ("",))[0]
    if trusted_proxies:
        claims = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        chain = [entry.strip() for entry in ",".join(claims).split(",") if entry.strip()]
        if chain:
            seen = chain[-min(trusted_proxies, len(chain))]
    return _subscriber(seen)


def _subscriber(text: str) -> str:
    try:
        address = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return "unknown"
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> _SITE << _SITE)}/{_SITE}"
