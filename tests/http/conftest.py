"""The sample API, asked over ASGI without a server."""

from __future__ import annotations

import pytest

from cardmatch.http.door import Door
from tests.http.sample import door


@pytest.fixture(scope="session")
def sample() -> Door:
    """The sample API behind the real door."""
    return door()
