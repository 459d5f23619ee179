"""Connections to Redis: one server, the server that Sentinels name, or a cluster; with TLS where the URL says so.

They speak RESP2 and send no command beyond those that are asked for, so that any Redis since 6, any Valkey, and the
proxies in front of managed ones understand them.
"""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis, Sentinel
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff

from cardmatch.catalogue.shared.address import Address, Kind, Login, TlsFiles

ANSWER_SECONDS = 3.0
"""How long one answer may take: more than the two seconds of a bad network, less than somebody who looks would wait."""

Client = Redis | RedisCluster


class Link:
    """A way to Redis that opens connections as they are needed, and again after they broke."""

    def __init__(
        self, address: Address, tls: TlsFiles | None = None, *, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """Nothing is connected yet."""
        self.address = address
        self._options = _options(address, tls or TlsFiles(), answer_seconds)
        self._sentinel = _sentinel(address, self._options) if address.kind is Kind.SENTINEL else None
        self.client: Client = _client(address, self._options, self._sentinel)

    async def primary(self, key: str) -> Redis:
        """A client for transactions on *key*: in a cluster, one of the node that holds it. Close it after use."""
        if not isinstance(self.client, RedisCluster):
            return self.client
        await self.client.initialize()
        node = self.client.get_node_from_key(key)
        if node is None:
            raise ConnectionError("no node of the cluster holds our keys")
        return Redis(host=node.host, port=int(node.port), **self._options)

    async def aclose(self) -> None:
        """Close every connection."""
        await self.client.aclose()
        if self._sentinel is not None:
            await self._sentinel.aclose()

    def describe(self, problem: BaseException) -> str:
        """What went wrong, in one line of a log; passwords are taken out, should a library ever quote one."""
        text = f"{type(problem).__name__}: {problem}".rstrip(": ")
        for login in (self.address.login, self.address.sentinel_login):
            if login.password:
                text = text.replace(login.password, "…")
        return " ".join(text.split())[:300]


def _options(address: Address, tls: TlsFiles, answer_seconds: float) -> dict[str, Any]:
    """What every connection is opened with."""
    options: dict[str, Any] = {
        "protocol": 2,
        "driver_info": None,
        "socket_connect_timeout": answer_seconds,
        "socket_timeout": answer_seconds,
        # One more try, for pooled connections that a restart broke. Waiting longer is the poll's business.
        "retry": Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.1), retries=1),
        **_login(address.login),
    }
    if not address.tls:
        return options
    files = {
        "ssl_ca_certs": tls.authorities,
        "ssl_certfile": tls.certificate,
        "ssl_keyfile": tls.key,
    }
    return {**options, "ssl": True, **{name: path for name, path in files.items() if path is not None}}


def _login(login: Login) -> dict[str, str]:
    named = {"username": login.username, "password": login.password}
    return {name: value for name, value in named.items() if value is not None}


def _sentinel(address: Address, options: dict[str, Any]) -> Sentinel:
    own = {name: value for name, value in options.items() if name not in {"username", "password"}}
    known = {**own, **_login(address.sentinel_login)}
    return Sentinel(list(address.hosts), sentinel_kwargs=known)  # type: ignore[no-untyped-call]


def _client(address: Address, options: dict[str, Any], sentinel: Sentinel | None) -> Client:
    if address.kind is Kind.SOCKET:
        return Redis(unix_socket_path=address.path, db=address.database, **options)
    if sentinel is not None:
        client: Redis = sentinel.master_for(address.service or "", db=address.database, **options)
        return client
    if address.kind is Kind.CLUSTER:
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options)
    ((host, port),) = address.hosts
    return Redis(host=host, port=port, db=address.database, **options)
