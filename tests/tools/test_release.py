"""What a release promises is kept as it is."""

from __future__ import annotations

from pathlib import Path

from tools.release import keep


def test_the_document_and_the_examples_are_kept(tmp_path: Path) -> None:
    """Both are copied, and what an untagged version kept before goes."""
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.json").write_text("1")
    (tmp_path / "openapi.json").write_text("2")
    stale = tmp_path / "released" / "1.2.3" / "examples" / "gone.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("0")
    folder = keep(tmp_path, "1.2.3")
    kept = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.json")}
    assert kept == {"openapi.json": "2", "examples/a.json": "1"}
