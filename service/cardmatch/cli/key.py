"""`cardmatch key NAME`: a new API key, and the entry of the list of keys that lets it in."""

from __future__ import annotations

import argparse

from cardmatch.keys import BadKeys, new_key, parse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose key it is to be."""
    parser.add_argument("name", help="whose key it is: letters, digits, dots, dashes and underscores")


def run(arguments: argparse.Namespace) -> int:
    """Print the key, which is kept nowhere, and its entry; 2 if the name will not do."""
    key, digest = new_key()
    entry = f"{arguments.name}={digest}"
    try:
        parse(entry)
    except BadKeys:
        print("cardmatch: a name has up to 64 letters, digits, dots, dashes and underscores")
        return 2
    print(f"key    {key}\nentry  {entry}")
    return 0
