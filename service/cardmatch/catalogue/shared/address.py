"""Where Redis is: a URL of one server, of Sentinels, or of a cluster. docs/redis.md describes the syntax.

`redis://` and `rediss://` (TLS) name one server, `unix://` its socket; `redis+sentinel://` and `redis+cluster://` (with
TLS `rediss+…`) name several hosts, apart by commas.
"""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?")
_SERVICE = re.compile(r"[A-Za-z0-9._-]{1,100}")
_MOST_HOSTS = 32


class BadAddress(ValueError):  # noqa: N818 - it reads as a statement about the URL
    """The URL names no Redis. The message never holds the URL, which may hold a password."""


class Kind(StrEnum):
    """How the server that answers is found."""

    SERVER = "server"
    SOCKET = "socket"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


_SCHEMES = {
    "redis": (Kind.SERVER, False),
    "rediss": (Kind.SERVER, True),
    "unix": (Kind.SOCKET, False),
    "redis+sentinel": (Kind.SENTINEL, False),
    "rediss+sentinel": (Kind.SENTINEL, True),
    "redis+cluster": (Kind.CLUSTER, False),
    "rediss+cluster": (Kind.CLUSTER, True),
}


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """A name and a password; Redis before 6, and servers without users, know only the password."""

    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        """Says whether there is one, not which."""
        return f"Login(username={self.username!r}, password={'…' if self.password else None})"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed URL. `path` is that of a socket, `service` what Sentinels call the server."""

    kind: Kind
    tls: bool = False
    hosts: tuple[tuple[str, int], ...] = ()
    path: str | None = None
    database: int = 0
    service: str | None = None
    login: Login = Login()
    sentinel_login: Login = Login()

    def __str__(self) -> str:
        """The address without its passwords, for logs."""
        scheme = next(name for name, meant in _SCHEMES.items() if meant == (self.kind, self.tls))
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        rest = "/".join(filter(None, [self.service, str(self.database or "")]))
        return f"{scheme}://{self.path or hosts}{'/' + rest if rest else ''}"


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of PEM files: authorities to trust instead of the system's, and a certificate of our own with its key."""

    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None


def parse(url: str) -> Address:
    """The address that *url* names. Raises BadAddress."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadAddress("not a URL") from None
    if parts.scheme not in _SCHEMES:
        raise BadAddress(f"the scheme is none of {', '.join(_SCHEMES)}")
    kind, tls = _SCHEMES[parts.scheme]
    if parts.fragment:
        raise BadAddress("a # in a password is written %23")
    user, _, hosts = parts.netloc.rpartition("@")
    options = _options(parts.query, {"db"} if kind is Kind.SOCKET else _SENTINEL_OPTIONS.get(kind, set()))
    if kind is Kind.SOCKET:
        if hosts or parts.path in {"", "/"}:
            raise BadAddress("a socket is unix:///path, three slashes in all")
        database = _database(options.get("db", "0"))
        return Address(kind=kind, path=unquote(parts.path), database=database, login=_login(user))
    service, database = _path(kind, parts.path)
    return Address(
        kind=kind,
        tls=tls,
        hosts=_hosts(hosts, 26379 if kind is Kind.SENTINEL else 6379, single=kind is Kind.SERVER),
        database=database,
        service=service,
        login=_login(user),
        sentinel_login=Login(username=options.get("sentinel_username"), password=options.get("sentinel_password")),
    )


_SENTINEL_OPTIONS = {Kind.SENTINEL: {"sentinel_username", "sentinel_password"}}


def _options(query: str, known: set[str]) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(options.keys() - known):
        raise BadAddress(f"no such option: {', '.join(unknown)}")
    return options


def _login(user: str) -> Login:
    name, colon, password = user.partition(":")
    if name and not colon:
        raise BadAddress("a password alone is written :password@host")
    return Login(username=unquote(name) or None, password=unquote(password) or None)


def _path(kind: Kind, path: str) -> tuple[str | None, int]:
    """The name of the service (Sentinels only) and the database. A cluster has only database 0."""
    parts = path.strip("/").split("/") if path.strip("/") else []
    service = None
    if kind is Kind.SENTINEL:
        if not parts or not _SERVICE.fullmatch(parts[0]):
            raise BadAddress("after the Sentinels comes the name of the service: redis+sentinel://host/name")
        service = parts.pop(0)
    if len(parts) > (0 if kind is Kind.CLUSTER else 1):
        raise BadAddress("after the hosts comes at most the number of a database; a cluster has only one")
    return service, _database(parts[0] if parts else "0")


def _database(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text):
        raise BadAddress("the database is a number")
    return int(text)


def _hosts(text: str, port: int, *, single: bool) -> tuple[tuple[str, int], ...]:
    found = [_HOST.fullmatch(host) for host in text.split(",")]
    hosts = tuple([(match["six"] or match["name"], int(match["port"] or port)) for match in found if match])
    if len(hosts) != len(found) or len(hosts) > (1 if single else _MOST_HOSTS):
        raise BadAddress("a host is host, host:port or [IPv6]:port; several only for Sentinels and clusters")
    if not all(1 <= number <= 65535 for _, number in hosts):
        raise BadAddress("a port lies between 1 and 65535")
    return hosts
