"""URLs of Redis: what each means, what is refused, and that none tells a password."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.shared.address import Address, BadAddress, Kind, Login, parse

MEANT = {
    "redis://cache": Address(kind=Kind.SERVER, hosts=(("cache", 6379),)),
    "redis://cache:7000/3": Address(kind=Kind.SERVER, hosts=(("cache", 7000),), database=3),
    "redis://[::1]:7000": Address(kind=Kind.SERVER, hosts=(("::1", 7000),)),
    "rediss://:pa%23ss@cache": Address(
        kind=Kind.SERVER, tls=True, hosts=(("cache", 6379),), login=Login(password="pa#ss")
    ),
    "redis://me:p%40ss@cache": Address(
        kind=Kind.SERVER, hosts=(("cache", 6379),), login=Login(username="me", password="p@ss")
    ),
    "unix:///run/redis.sock": Address(kind=Kind.SOCKET, path="/run/redis.sock"),
    "unix://:secret@/run/redis.sock?db=2": Address(
        kind=Kind.SOCKET, path="/run/redis.sock", database=2, login=Login(password="secret")
    ),
    "redis+sentinel://a,b:5000/main": Address(kind=Kind.SENTINEL, hosts=(("a", 26379), ("b", 5000)), service="main"),
    "rediss+sentinel://me:p-1@a/main/4?sentinel_password=p-2": Address(
        kind=Kind.SENTINEL,
        tls=True,
        hosts=(("a", 26379),),
        service="main",
        database=4,
        login=Login(username="me", password="p-1"),
        sentinel_login=Login(password="p-2"),
    ),
    "redis+cluster://a,b:7001": Address(kind=Kind.CLUSTER, hosts=(("a", 6379), ("b", 7001))),
    "rediss+cluster://:secret@a": Address(
        kind=Kind.CLUSTER, tls=True, hosts=(("a", 6379),), login=Login(password="secret")
    ),
}


@pytest.mark.parametrize("url", MEANT)
def test_every_form_is_understood(url: str) -> None:
    """Scheme, login, hosts, database and service end up where they belong."""
    assert parse(url) == MEANT[url]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "cache",
        "http://secret@cache",
        "redis://",
        "redis://a,b",
        "redis://cache:0",
        "redis://cache:70000",
        "redis://cache:x",
        "redis://cache/one",
        "redis://cache/1/2",
        "redis://:secret#x@cache",
        "redis://secret@cache",
        "redis://:secret@cache?ssl_cert_reqs=none",
        "redis://bad host",
        "redis://[::1",
        "unix://run/redis.sock",
        "unix://",
        "unix:///s?db=secret",
        "redis+sentinel://a",
        "redis+sentinel://a/b c",
        "redis+cluster://a/1",
        "redis+cluster://" + ",".join("a" * 33),
    ],
)
def test_other_forms_are_refused_without_quoting_them(url: str) -> None:
    """The message may end up in a log, so nothing of what may be a password stands in it."""
    with pytest.raises(BadAddress) as refusal:
        parse(url)
    assert str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("url", MEANT)
def test_no_form_of_an_address_tells_a_password(url: str) -> None:
    """Neither as text nor as a debugger would show it; without passwords the text is the URL again."""
    address = parse(url)
    for login in (address.login, address.sentinel_login):
        assert login.password is None or login.password not in f"{address} {address!r}"
    bare = str(address)
    assert str(parse(bare)) == bare or address.kind is Kind.SOCKET
    assert address.path is None or address.path in bare
