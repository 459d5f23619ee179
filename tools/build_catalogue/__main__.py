"""`python -m tools.build_catalogue SHARED [noun …]` rewrites the catalogue's data files; `--check` only compares."""

from __future__ import annotations

import argparse
import importlib
import pathlib
import sys

DATA = pathlib.Path(__file__).resolve().parents[2] / "service" / "cardmatch" / "catalogue" / "data"
NOUNS = ("models", "model_names", "pipelines", "cards", "card_names", "offers", "providers", "countries", "ownership")


def main() -> int:
    """Write (or compare) every file of the nouns asked for; exit status 1 where a comparison fails."""
    parser = argparse.ArgumentParser(prog="build_catalogue", description=__doc__)
    parser.add_argument("shared", type=pathlib.Path, help="folder with the transcribed sources (cards.json …)")
    parser.add_argument("nouns", nargs="*", default=NOUNS, help=f"of {', '.join(NOUNS)}; all by default")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file would change")
    options = parser.parse_args()
    stale = []
    for noun in options.nouns:
        module = importlib.import_module(f"tools.build_catalogue.{noun}")
        for name, content in module.build(options.shared).items():
            path = DATA / name
            if path.exists() and path.read_bytes() == content:
                continue
            stale.append(name)
            if not options.check:
                path.write_bytes(content)
    print("changed:", ", ".join(stale) or "nothing")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
