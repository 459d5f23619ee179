"""Units and bounded numbers. GB is 10^9 bytes, GiB is 2^30; the two are never mixed in words."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
GB = 10**9

Bytes = Annotated[int, Meta(ge=0, le=1 << 60, description="Bytes.")]
GivenBytes = Annotated[
    int, Meta(ge=0, le=1 << 48, description="Bytes; at most 256 TiB, so that no sum of them overflows.")
]
SignedBytes = Annotated[int, Meta(ge=-(1 << 60), le=1 << 60, description="Bytes; negative where something is missing.")]
Parameters = Annotated[int, Meta(ge=0, le=10**15, description="Number of parameters.")]
Tokens = Annotated[int, Meta(ge=1, le=10**9, description="Tokens.")]
TokenCount = Annotated[int, Meta(ge=0, le=10**15, description="Tokens; zero where not even one fits.")]
Count = Annotated[int, Meta(ge=1, le=65_536)]
