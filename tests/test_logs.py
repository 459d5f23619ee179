"""A log that cannot be written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from cardmatch.logs import Sink


def test_lines_that_nothing_takes_are_counted_and_given_up() -> None:
    """A full disk is no error of whoever logs; what is too much for the buffer is lost, and only that."""
    with contextlib.suppress(OSError), Path("/dev/full").open("wb", buffering=16) as full:  # closing it writes too
        sink = Sink(full)
        for _ in range(5):
            sink.write(b"0123456789\n")
            sink.flush()
        assert 1 <= sink.lost < 5


def test_lines_are_written_where_there_is_room(tmp_path: Path) -> None:
    """At once, since the next thing may be the end."""
    with (tmp_path / "log").open("wb") as file:
        sink = Sink(file)
        sink.write(b"a line\n")
        sink.flush()
        assert (tmp_path / "log").read_bytes() == b"a line\n"
        assert sink.lost == 0
