"""Write openapi/openapi.json from the operations and their structs; a test compares, so run it after changing them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from cardmatch.http.document import document
from cardmatch.http.operations import OPERATIONS

TARGET = Path(__file__).resolve().parent.parent / "openapi" / "openapi.json"


def written() -> str:
    """The document as it is committed: indented, in the order of the operations, one line at the end."""
    plain = msgspec.json.decode(msgspec.json.encode(document(OPERATIONS)))
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
