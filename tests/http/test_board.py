"""One page of metrics for several workers."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.http.board import Board
from cardmatch.http.exposition import figures
from cardmatch.http.meter import Meter
from cardmatch.http.router import Surroundings, build
from cardmatch.http.standing import Standing
from cardmatch.settings import Settings
from tests.http.sample import ASK, SHOW, Snapshot
from tests.http.test_metrics import _families, _values


@pytest.fixture
def as_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Pretend to be another process."""
    return lambda pid: monkeypatch.setattr(os, "getpid", lambda: pid)


@pytest.fixture
def gone() -> int:
    """The id of a process that is no more."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


def _board(folder: Path, requests: int) -> Board:
    """A worker that served so many requests of a millisecond, and serves one."""
    meter = Meter()
    meter.in_flight = 1
    for _ in range(requests):
        meter.served("/cost", "POST", 200, 0.001)
    return Board(folder, figures(meter, [Standing(bundled)]))


def _page(board: Board, name: str) -> dict[tuple[str, ...], float]:
    return _values(build((ASK, SHOW), Snapshot, Settings(), Surroundings(told=board)), name)


def test_counts_of_living_workers_are_added(tmp_path: Path, as_process: Callable[[int], None]) -> None:
    """Whoever is asked tells of both: counts, histograms and what is in flight; there is one catalogue still."""
    as_process(os.getppid())
    other = _board(tmp_path, 3)
    other._write()
    as_process(1)
    board = _board(tmp_path, 4)
    assert _page(board, "cardmatch_requests_total") == {("POST", "/cost", "200"): 7}
    assert _page(board, "cardmatch_request_seconds_sum") == {("/cost",): pytest.approx(0.007)}
    assert _page(board, "cardmatch_request_seconds_bucket")["0.001", "/cost"] == 7
    assert _page(board, "cardmatch_requests_in_flight") == {(): 2}
    assert _page(board, "cardmatch_catalogue_offers") == {(): len(bundled().offers)}
    assert _page(board, "cardmatch_catalogue_version") == {(bundled().version[:16],): 1}
    assert _page(board, "cardmatch_redis_state")["off",] == 1
    assert _page(other, "cardmatch_requests_total") == {("POST", "/cost", "200"): 7}


def test_counts_of_the_dead_stay_and_their_gauges_do_not(
    tmp_path: Path, as_process: Callable[[int], None], gone: int
) -> None:
    """A sum that went back would look like a restart, and one that went on showing its flight like a leak."""
    as_process(1)
    board = _board(tmp_path, 4)
    as_process(gone)
    _board(tmp_path, 3)._write()
    assert _page(board, "cardmatch_requests_total") == {("POST", "/cost", "200"): 7}
    assert _page(board, "cardmatch_requests_in_flight") == {(): 1}


def test_who_takes_the_place_of_a_dead_worker_takes_its_counts_over(
    tmp_path: Path, as_process: Callable[[int], None], gone: int
) -> None:
    """Once, so that no file is left over and nothing counts twice, through any number of deaths."""
    as_process(gone)
    _board(tmp_path, 3)._write()
    as_process(1)
    heir, stranger = _board(tmp_path, 4), _board(tmp_path / "elsewhere", 1)
    assert [path.stem for path in tmp_path.glob("*.metrics")] == ["1"]
    for _ in range(2):
        assert _page(heir, "cardmatch_requests_total") == {("POST", "/cost", "200"): 7}
    assert _page(heir, "cardmatch_requests_in_flight") == {(): 1}
    assert _page(stranger, "cardmatch_requests_total") == {("POST", "/cost", "200"): 1}


@pytest.mark.parametrize("junk", [b"", b"\xff", b"not ours"])
def test_what_others_wrote_there_and_a_full_disk_are_no_error(
    tmp_path: Path, as_process: Callable[[int], None], junk: bytes
) -> None:
    """The page tells what can be told."""
    (tmp_path / f"{os.getppid()}.metrics").write_bytes(junk)
    as_process(1)
    board = _board(tmp_path, 4)
    (tmp_path / "1.new").symlink_to("/dev/full")
    assert _page(board, "cardmatch_requests_total") == {("POST", "/cost", "200"): 4}
    board._folder = board._path = tmp_path / "gone"
    assert _page(board, "cardmatch_requests_total") == {("POST", "/cost", "200"): 4}


def test_it_is_written_down_all_along_and_at_the_end(tmp_path: Path) -> None:
    """Whoever is asked next has the last figure of a worker that ended well."""
    board = _board(tmp_path, 1)

    async def live() -> bool:
        async with board.running():
            await asyncio.sleep(0.05)
            board._path.unlink()
        return board._path.exists()

    assert asyncio.run(live())


def test_the_page_has_the_same_families_either_way(tmp_path: Path) -> None:
    """With their kinds and words, so that nothing is lost on the way through a file."""
    meter = Meter()
    meter.served("/cost", "POST", 200, 0.001)
    told = figures(meter, [Standing(bundled)])
    alone, together = (
        _families(build((ASK, SHOW), Snapshot, Settings(), Surroundings(told=each)))
        for each in (told, Board(tmp_path, told))
    )
    assert {name: (it.type, it.documentation) for name, it in alone.items()} == {
        name: (it.type, it.documentation) for name, it in together.items()
    }
