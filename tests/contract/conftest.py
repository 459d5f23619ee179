"""The service itself, with the bundled catalogue."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import build
from cardmatch.settings import Settings


@pytest.fixture(scope="session")
def service() -> Door:
    """The ASGI application as it is served."""
    return build(OPERATIONS, bundled, Settings())
