"""What happens to the machine under a server: a worker dies, disks and descriptors run out, clocks jump."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

from cardmatch.cli.serve import OTHER_DESCRIPTORS
from cardmatch.http.router import most_in_flight
from tests.serving import Served, logged, serving, wait_until_ready
from tests.soak.clients import POST, TWO
from tests.soak.traffic import Traffic
from tests.soak.workers import workers

DESCRIPTORS = 160
HELD = DESCRIPTORS - OTHER_DESCRIPTORS
FAKETIME = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1", "/usr/local/lib/faketime/*.1")


def killed_worker(folder: Path, scale: float) -> str:
    """Kill -9 of one of two workers loses at most what its clients had in flight; another takes its place."""
    times = max(round(5 * scale), 1)
    with serving(folder, TWO) as server, Traffic(server) as traffic:
        for _ in range(times):
            time.sleep(1)
            lost = workers(server)[0]
            os.kill(lost, signal.SIGKILL)
            _until_two(server, lost)
            time.sleep(0 if times == 1 else 6)  # the server ends where workers die faster, as a loop would
    assert not traffic.wrong, traffic.wrong
    assert all(count <= times for count in traffic.lost.values()), traffic.lost
    return f"{times} killed, {traffic.lost.total()} of {traffic.answered} requests lost"


def _until_two(server: Served, without: int) -> None:
    for _ in range(200):
        if len(found := workers(server)) == 2 and without not in found:
            return
        time.sleep(0.1)
    raise AssertionError(f"{without} was not replaced")


def full_disk(folder: Path, scale: float) -> str:
    """A log that nothing takes costs no answer, neither at the start nor later, and is told in the metrics."""
    quiet = {**TWO, "CARDMATCH_LOG_SLOWER_THAN_SECONDS": "0"}
    with serving(folder, quiet, log=Path("/dev/full")) as server:
        with Traffic(server, 2) as traffic:
            time.sleep(10 * scale)
        lines = metric(server, "cardmatch_log_lines_lost_total")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=20) == 0
    assert not traffic.wrong, traffic.wrong
    assert not traffic.lost, traffic.lost
    assert lines > 0
    return f"{traffic.answered} answered, {lines:.0f} lines of log lost"


def descriptors_used_up(folder: Path, _: float) -> str:
    """More slow clients than files may be open: those over it get 503, and all is well when they are gone."""
    under = ["bash", "-c", f'ulimit -n {DESCRIPTORS}; exec "$0" "$@"']
    one = {"CARDMATCH_BODY_READ_TIMEOUT_SECONDS": "4", "CARDMATCH_HEADER_READ_TIMEOUT_SECONDS": "4"}
    with serving(folder, one, under) as server:
        slow = [server.socket(timeout=20) for _ in range(2 * DESCRIPTORS)]
        for each in slow:
            each.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        statuses = [_status(each) for each in slow]
        for each in slow:
            each.close()
        wait_until_ready(server)
        with Traffic(server, 2) as traffic:
            time.sleep(1)
        assert set(statuses) == {503, 408}, statuses
        assert statuses.count(408) >= most_in_flight(HELD), statuses
        assert not traffic.wrong, traffic.wrong
        assert not traffic.lost, traffic.lost
        assert "Failed to accept" not in logged(server)
        assert "request.failed" not in logged(server)
        return (
            f"{statuses.count(503)} of {len(slow)} got 503, {statuses.count(408)} 408, then {traffic.answered} answers"
        )


def _status(connection: object) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(connection.recv(100).split()[1])  # type: ignore[attr-defined]
    return 0


def clock_jumps(folder: Path, scale: float) -> str:
    """A clock that goes years ahead and back hurts no answer and no sum; ages and days follow it."""
    library = faketime()
    if library is None:
        return "left out: there is no libfaketime"
    jumps = folder / "jumps"
    _jump(jumps, "+0")
    environ = {
        **TWO, "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(jumps), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    ages, answered = [], 0
    with serving(folder, environ) as server:
        for jump in ("+0", "+900d", "-4000d", "-1h", "+0"):
            _jump(jumps, jump)
            with Traffic(server, 1) as traffic:
                time.sleep(10 * scale)
            assert not traffic.lost, traffic.lost
            # What the documentation answers is priced on its day; only what is over by then may be told otherwise.
            assert not [wrong for wrong in traffic.wrong if " 5" in wrong.partition(":")[2][:3]], traffic.wrong
            assert metric(server, "cardmatch_request_seconds_sum") >= 0
            ages.append(metric(server, "cardmatch_catalogue_age_seconds") / 86400)
            answered += traffic.answered
        assert "request.failed" not in logged(server)
    assert abs(ages[1] - ages[0] - 900) < 1, ages
    assert abs(ages[2] - ages[0] + 4000) < 1, ages
    assert abs(ages[4] - ages[0]) < 1, ages
    return f"{answered} answered; ages of the catalogue in days: {', '.join(f'{age:.1f}' for age in ages)}"


def _jump(file: Path, offset: str) -> None:
    beside = file.with_suffix(".new")
    beside.write_text(f"{offset}\n")
    beside.replace(file)


def faketime() -> Path | None:
    """The library that lies about the time, where a distribution's package or a variable has it."""
    if given := os.environ.get("LIBFAKETIME"):
        return Path(given)
    found = [path for pattern in FAKETIME for path in Path("/").glob(pattern[1:])]
    return found[0] if found and shutil.which("bash") else None


def metric(server: Served, name: str) -> float:
    """The sum of a metric's samples on a page that all workers share."""
    connection = server.connect()
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    values = [float(value) for value in re.findall(rf"(?m)^{name}(?:\{{.*\}})? (\S+)$", page)]
    assert values, f"{name} is not there: {json.dumps(page[:200])}"
    return sum(values)
