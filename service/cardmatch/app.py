"""The ASGI application: settings, logs, catalogue and the HTTP door, put together once per worker."""

from __future__ import annotations

import os

import structlog

from cardmatch import __version__, logs, settings
from cardmatch.catalogue.world import bundled
from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import build


def create_app() -> Door:
    """The application as the environment sets it up. Raises BadSetting where a variable holds what it cannot."""
    chosen = settings.read(os.environ)
    logs.configure(chosen.log_level)
    log = structlog.get_logger(__name__)
    for name in settings.unknown(os.environ):
        log.warning("setting.unknown", variable=name)
    world = bundled()
    log.info("service.starting", release=__version__, catalogue=world.version, as_of=world.as_of)
    return build(OPERATIONS, bundled, chosen)
