"""The ASGI application: settings, logs, catalogue and the HTTP door, put together once per worker."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import AsyncIterator

import structlog

from cardmatch import __version__, logs, settings
from cardmatch.catalogue.shared.address import Address
from cardmatch.catalogue.world import World, bundled
from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import build
from cardmatch.settings import Settings

# So long the first request may wait for a Redis that answers; one that does not holds nothing up.
_FIRST_POLL_SECONDS = 0.25


def create_app() -> Door:
    """The application as the environment sets it up. Raises BadSetting where a variable holds what it cannot."""
    chosen = settings.read(os.environ)
    logs.configure(chosen.log_level)
    log = structlog.get_logger(__name__)
    for name in settings.unknown(os.environ):
        log.warning("setting.unknown", variable=name)
    world = bundled()
    redis = settings.redis_address(chosen)
    log.info("service.starting", release=__version__, catalogue=world.version, as_of=world.as_of, redis=redis)
    door = build(OPERATIONS, bundled, chosen) if redis is None else _following(world, redis, chosen)
    gc.collect()
    gc.freeze()  # what is here stays: looking through it for garbage would stop answers for a tenth of a second
    return door


def _following(world: World, redis: Address, chosen: Settings) -> Door:
    """The application over the snapshot that Redis names."""
    # Imported here, because who runs without Redis should not wait for its client.
    from cardmatch.catalogue.shared.connect import Link  # noqa: PLC0415
    from cardmatch.catalogue.shared.follower import Follower  # noqa: PLC0415
    from cardmatch.catalogue.shared.store import Keys  # noqa: PLC0415

    link = Link(redis, settings.redis_tls(chosen))
    follower = Follower(world, link, Keys(chosen.redis_namespace), poll_seconds=chosen.redis_poll_seconds)

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with follower.running(wait_seconds=_FIRST_POLL_SECONDS):
            yield

    return build(OPERATIONS, follower.world, chosen, [lifespan])
