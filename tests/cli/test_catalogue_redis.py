"""`cardmatch catalogue` with CARDMATCH_REDIS_URL: the base comes from Redis, and what is new goes there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cardmatch.catalogue.importers import refresh as importing
from cardmatch.catalogue.world import bundled, load
from cardmatch.cli import main, refresh
from tests.following import KEYS, after_publish
from tests.redis_server import RedisServer
from tests.snapshots import numbered


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A server that the environment names."""
    started = RedisServer(tmp_path / "redis")
    started.password = "hush-hush"
    started.start()
    monkeypatch.setenv("CARDMATCH_REDIS_URL", started.url)
    yield started
    started.stop()


def run(*arguments: str | Path) -> int:
    """The exit status of `cardmatch catalogue …`."""
    return main(["catalogue", *map(str, arguments)])


def prices(tmp_path: Path, provider: str, usd: float = 0.5) -> Path:
    """A file with one offer of *provider*."""
    path = tmp_path / f"{provider}.json"
    path.write_bytes(msgspec.json.encode([{"provider": provider, "card": "rtx-4090", "usd_per_hour": usd}]))
    return path


def published(server: RedisServer) -> dict[str, object]:
    """The head that Redis holds."""
    raw = server.ask("GET", KEYS.head)
    assert isinstance(raw, bytes)
    head: dict[str, object] = msgspec.json.decode(raw)
    return head


def test_a_refresh_publishes_and_the_next_one_builds_on_it(server: RedisServer, tmp_path: Path) -> None:
    """Nobody has to pass a file from one run to the next."""
    assert run("refresh", "--from", prices(tmp_path, "one")) == 0
    first = published(server)["version"]
    assert run("refresh", "--from", prices(tmp_path, "two")) == 0
    head = published(server)
    assert head["earlier"] == [first]
    raw = server.ask("GET", KEYS.snapshot(str(head["version"])))
    assert isinstance(raw, bytes)
    assert {"one/1x-rtx-4090/any/standard", "two/1x-rtx-4090/any/standard"} <= load(raw).offers.keys()


def test_nothing_new_is_not_published_again(server: RedisServer, tmp_path: Path) -> None:
    """The head keeps its date, so that it tells when the content last changed."""
    source = prices(tmp_path, "one")
    assert run("refresh", "--from", source) == 0
    before = published(server)
    assert run("refresh", "--from", source) == 0
    assert published(server) == before


def test_of_two_at_once_the_second_is_told(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 7, and what the first one published stands."""

    def slow(*arguments: object) -> importing.Refreshed:
        thread = threading.Thread(target=asyncio.run, args=[after_publish(server, numbered(1))])
        thread.start()
        thread.join()
        return importing.refresh(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(refresh, "refresh", slow)
    assert run("refresh", "--from", prices(tmp_path, "one")) == 7
    assert "somebody else published" in capsys.readouterr().err
    assert published(server)["version"] == load(numbered(1)).version


def test_what_was_refused_is_not_published(server: RedisServer, tmp_path: Path) -> None:
    """A snapshot that lost too much stays where it was made."""
    path = tmp_path / "few.json"
    path.write_text('[{"provider": "oci", "card": "l40s", "usd_per_hour": 1.6}]')
    limits = ("--max-provider-loss", "1", "--max-total-loss", "0.01", "--complete")
    assert run("refresh", "--from", path, *limits) == 3
    assert server.ask("EXISTS", KEYS.head) == 0


def test_a_redis_that_is_away_is_said_without_the_password(
    server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 6 for a refresh, 2 for a look; --output FILE with --base FILE needs no Redis."""
    server.stop()
    assert run("refresh", "--from", prices(tmp_path, "one")) == 6
    assert run("show") == 2
    printed = capsys.readouterr()
    assert str(server.socket) in printed.err
    assert "hush-hush" not in printed.err + printed.out
    output = tmp_path / "snapshot"
    assert run("refresh", "--from", prices(tmp_path, "one"), "--base", "bundled", "--output", output) == 0
    assert output.exists()


def test_garbage_in_redis_is_only_replaced_when_asked(
    server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a base it is refused; another base publishes over it, whatever its type."""
    for garbage in (("SET", KEYS.head, "junk"), ("LPUSH", KEYS.head, "junk")):
        server.ask("FLUSHALL")
        server.ask(*garbage)
        assert run("refresh", "--from", prices(tmp_path, "one")) == 2
        assert "--base" in capsys.readouterr().err
        assert run("refresh", "--from", prices(tmp_path, "one"), "--base", "bundled") == 0
        assert published(server)["earlier"] == []


def test_show_and_diff_read_redis(server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The current one, and earlier ones by the beginning of their version."""
    assert run("show") == 0
    assert "names no snapshot yet" in capsys.readouterr().err
    run("refresh", "--from", prices(tmp_path, "one"))
    first = str(published(server)["version"])
    run("refresh", "--from", prices(tmp_path, "one", 0.6))
    capsys.readouterr()
    assert run("show") == 0
    assert str(published(server)["version"]) in capsys.readouterr().out
    assert run("diff", f"redis:{first[:10]}", "redis") == 0
    assert "1 prices changed" in capsys.readouterr().out
    assert run("diff", "bundled", "redis") == 0
    assert run("show", "redis:ffff") == 2


def test_without_the_variable_redis_is_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, with the name of the variable."""
    assert run("show", "redis") == 2
    assert "CARDMATCH_REDIS_URL" in capsys.readouterr().err
    assert run("show") == 0
    assert bundled().version in capsys.readouterr().out


@pytest.mark.parametrize("url", ["redis://a,b:hush-hush@", "hush-hush"])
def test_a_wrong_url_is_said_without_quoting_it(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, with the variable and the reason."""
    monkeypatch.setenv("CARDMATCH_REDIS_URL", url)
    assert run("show") == 2
    printed = capsys.readouterr()
    assert "CARDMATCH_REDIS_URL" in printed.err
    assert "hush-hush" not in printed.err + printed.out


def test_who_does_not_use_redis_does_not_wait_for_its_client(root: Path) -> None:
    """Nor for the one of the hub, nor for the web framework."""
    program = (
        "import sys; from cardmatch.cli import main; main(['catalogue', 'show']);"
        "print([name for name in ('redis', 'httpx', 'litestar') if name in sys.modules])"
    )
    environ = {"PYTHONPATH": str(root / "service")}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
