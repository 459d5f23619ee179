"""Every kind of URL against real servers: password, users, TLS, Sentinels with a failover, a cluster."""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.exceptions import RedisError

from cardmatch.catalogue.shared.address import TlsFiles, parse
from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.follower import Follower
from cardmatch.catalogue.shared.store import publish, read_head, read_snapshot
from cardmatch.catalogue.world import bundled
from tests.following import KEYS, settled
from tests.redis_server import RedisServer, free_port, programs
from tests.snapshots import numbered


async def _round_trip(url: str, tls: TlsFiles | None = None) -> None:
    """A publish over *url* reaches a replica that listens there and polls too seldom to see it by itself."""
    link = Link(parse(url), tls)
    replica = Follower(bundled(), Link(parse(url), tls), KEYS, poll_seconds=30)
    try:
        async with replica.running(wait_seconds=5):
            await settled(lambda: replica.tally.listening)
            primary = await link.primary(KEYS.head)
            standing = await read_head(link.client, KEYS)
            head = await publish(primary, KEYS, numbered(1), over=standing, now=dt.datetime.now(dt.UTC))
            assert await read_snapshot(link.client, KEYS, head.version) == numbered(1)
            await settled(lambda: replica.world().version == head.version)
            if primary is not link.client:
                await primary.aclose()
    finally:
        await link.aclose()


def test_a_password_is_used(tmp_path: Path) -> None:
    """With the right one everything works."""
    server = RedisServer(tmp_path)
    server.password = "p@ss#wörd"
    server.start()
    try:
        asyncio.run(_round_trip(f"unix://:p%40ss%23w%C3%B6rd@{server.socket}"))
    finally:
        server.stop()


def test_a_user_needs_no_more_than_the_documented_rights(tmp_path: Path, root: Path) -> None:
    """The ACL rules of docs/redis.md let a publisher publish; those of a replica only let it read."""
    rules = [
        line.split() for line in (root / "docs/redis.md").read_text().splitlines() if line.startswith("ACL SETUSER")
    ]
    assert [rule[2] for rule in rules] == ["cardmatch-replica", "cardmatch-publisher"]
    server = RedisServer(tmp_path)
    server.start()
    try:
        for rule in rules:
            server.ask(*[part.replace("PASSWORD", "secret") for part in rule])
        asyncio.run(_round_trip(f"unix://cardmatch-publisher:secret@{server.socket}"))
        with pytest.raises(RedisError):
            asyncio.run(_publish_second(f"unix://cardmatch-replica:secret@{server.socket}"))
    finally:
        server.stop()


async def _publish_second(url: str) -> None:
    link = Link(parse(url))
    try:
        standing = await read_head(link.client, KEYS)
        assert standing
        await publish(await link.primary(KEYS.head), KEYS, numbered(2), over=standing, now=dt.datetime.now(dt.UTC))
    finally:
        await link.aclose()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate of 127.0.0.1 that it signed."""
    folder = tmp_path_factory.mktemp("tls")
    commands = [
        (
            "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"
            " -addext keyUsage=critical,keyCertSign"
        ),
        "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=127.0.0.1",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out cert.pem",
    ]
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
    for command in commands:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def encrypted(tmp_path: Path, certificates: Path) -> Iterator[RedisServer]:
    """A server that speaks TLS on a port and asks for a certificate; skipped where none here was built with it."""
    port = free_port()
    options = ["--tls-port", str(port), "--tls-auth-clients", "yes"]
    for name, file in (("tls-cert-file", "cert"), ("tls-key-file", "key"), ("tls-ca-cert-file", "ca")):
        options += [f"--{name}", str(certificates / f"{file}.pem")]
    for name, program in programs().items():
        server = RedisServer(tmp_path / name, *options, program=program)
        try:
            server.start()
        except AssertionError:
            continue
        server.port = port
        yield server
        server.stop()
        return
    pytest.skip("no server on this machine was built with TLS")


def test_tls_is_spoken_and_verified(encrypted: RedisServer, certificates: Path) -> None:
    """With the authority and a certificate it works; without either, and for another name, it does not."""
    own = {"certificate": str(certificates / "cert.pem"), "key": str(certificates / "key.pem")}
    authorities = str(certificates / "ca.pem")
    url = f"rediss://127.0.0.1:{encrypted.port}"
    asyncio.run(_round_trip(url, TlsFiles(authorities=authorities, **own)))
    for wrong, files in (
        (url, TlsFiles(**own)),
        (url, TlsFiles(authorities=authorities)),
        (f"rediss://localhost:{encrypted.port}", TlsFiles(authorities=authorities, **own)),
    ):
        with pytest.raises((RedisError, OSError)):
            asyncio.run(_look(wrong, files))


async def _look(url: str, files: TlsFiles) -> None:
    link = Link(parse(url), files)
    try:
        await read_head(link.client, KEYS)
    finally:
        await link.aclose()


@pytest.mark.slow
def test_sentinels_are_asked_and_a_failover_is_followed(tmp_path: Path) -> None:
    """When the server dies, the Sentinel's next one is followed, and has what was published before."""
    ports = [free_port() for _ in range(3)]
    primary = RedisServer(tmp_path / "primary", port=ports[0])
    replica = RedisServer(tmp_path / "replica", "--replicaof", "127.0.0.1", str(ports[0]), port=ports[1])
    configuration = tmp_path / "sentinel" / "sentinel.conf"
    configuration.parent.mkdir()
    configuration.write_text(
        f"port {ports[2]}\nbind 127.0.0.1\ndir {configuration.parent}\n"
        f"sentinel monitor main 127.0.0.1 {ports[0]} 1\nsentinel down-after-milliseconds main 500\n"
        "sentinel failover-timeout main 2000\n"
    )
    primary.start()
    replica.start()
    command = [primary.program, str(configuration), "--sentinel"]
    with (tmp_path / "sentinel.log").open("wb") as log:
        sentinel = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _until_sentinel_sees_the_replica(ports[2])
        asyncio.run(_fail_over(f"redis+sentinel://127.0.0.1:1,127.0.0.1:{ports[2]}/main", primary))
    finally:
        sentinel.kill()
        sentinel.wait()
        primary.stop()
        replica.stop()


def _until_sentinel_sees_the_replica(port: int) -> None:
    for _ in range(1500):
        try:
            with redis.Redis(port=port) as client:
                found = client.execute_command("SENTINEL", "REPLICAS", "main")
        except redis.ConnectionError:
            found = []
        if found and "slave" in str(found[0]) and "disconnected" not in str(found[0]) and "'err'" not in str(found[0]):
            return
        time.sleep(0.02)
    raise AssertionError("the Sentinel finds no replica")


async def _fail_over(url: str, primary: RedisServer) -> None:
    await _round_trip(url)
    follower = Follower(bundled(), Link(parse(url)), KEYS, poll_seconds=0.2)
    async with follower.running(wait_seconds=5):
        await settled(lambda: follower.world().version != bundled().version)
        primary.stop()
        await settled(lambda: follower.tally.outages == 1)
        await settled(lambda: follower.world().shared.redis == "current", seconds=30)
        link = Link(parse(url))
        standing = await read_head(link.client, KEYS)
        head = await publish(
            await link.primary(KEYS.head), KEYS, numbered(2), over=standing, now=dt.datetime.now(dt.UTC)
        )
        await link.aclose()
        await settled(lambda: follower.world().version == head.version)


def test_a_cluster_keeps_everything_on_the_node_of_our_keys(tmp_path: Path) -> None:
    """Publishing, reading and listening work from whichever node the URL names."""
    nodes = [RedisServer(tmp_path / str(n), "--cluster-enabled", "yes", port=free_port()) for n in range(3)]
    for node in nodes:
        node.start()
    try:
        for node in nodes[1:]:
            node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
        for number, (first, last) in enumerate([(0, 5460), (5461, 10922), (10923, 16383)]):
            nodes[number].ask("CLUSTER", "ADDSLOTS", *range(first, last + 1))
        for node in nodes:
            _until_whole(node)
        for node in nodes:
            asyncio.run(_round_trip(f"redis+cluster://127.0.0.1:1,127.0.0.1:{node.port}"))
            node_of_keys = nodes[[int(str(each.ask("DBSIZE"))) > 0 for each in nodes].index(True)]
            node_of_keys.ask("FLUSHALL")
    finally:
        for node in nodes:
            node.stop()


def _until_whole(node: RedisServer) -> None:
    """Every slot is served, and the node knows the other two."""
    told: set[bytes] = set()
    for _ in range(1500):
        answer = node.ask("CLUSTER", "INFO")
        assert isinstance(answer, bytes)
        told = set(answer.splitlines())
        if {b"cluster_state:ok", b"cluster_slots_ok:16384", b"cluster_known_nodes:3"} <= told:
            return
        time.sleep(0.02)
    raise AssertionError(told)
