"""The command line. Each command is a module of this package, imported when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from cardmatch import __version__

# Each has its module here, with `add_arguments(parser)` and `run(arguments)`, which returns the exit status.
COMMANDS = {
    "catalogue": "refresh, check, show and compare prices",
    "compare-log": "an engine's log beside what is predicted",
    "cost": "what does it cost?",
    "estimate": "does it fit?",
    "key": "a new API key and its entry",
    "recommend": "which card?",
    "serve": "answer over HTTP",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in *argv* (default: the process's own) and return its exit status; 2 for bad usage."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="cardmatch", description="Does it fit, which card, what does it cost?")
    parser.add_argument("--version", action="version", version=f"cardmatch {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, help_ in COMMANDS.items():
        command = commands.add_parser(name, help=help_, description=help_.capitalize())
        if name in given:  # its arguments, and the rooms it needs, only for the command that runs
            importlib.import_module(_module(name)).add_arguments(command)
    arguments = parser.parse_args(given)
    status: int = importlib.import_module(_module(arguments.command)).run(arguments)
    return status


def _module(command: str) -> str:
    return f"cardmatch.cli.{command.replace('-', '_')}"
