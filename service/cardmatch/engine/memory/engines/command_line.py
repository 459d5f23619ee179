"""The command line of an engine, as a request may give it instead of single options."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

CommandLine = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=16_384,
        description="The command that starts the engine; what it says goes before the other options.",
    ),
]
