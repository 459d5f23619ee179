"""The ASGI application: settings, logs, catalogue and the HTTP door, put together once per worker."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from cardmatch import __version__, logs, settings
from cardmatch.catalogue.shared.address import Address
from cardmatch.catalogue.world import World, bundled
from cardmatch.http.asgi import App
from cardmatch.http.board import Board
from cardmatch.http.door import Door
from cardmatch.http.exposition import figures
from cardmatch.http.meter import Meter
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import Surroundings, build
from cardmatch.http.standing import Standing
from cardmatch.orphans import ending_with_parent
from cardmatch.settings import Settings

if TYPE_CHECKING:
    from cardmatch.catalogue.hub.hub import Hub
    from cardmatch.catalogue.shared.follower import Follower
    from cardmatch.http.limiter import Limiter

# So long the first request may wait for a Redis that answers; one that does not holds nothing up.
_FIRST_POLL_SECONDS = 0.1


def create_app() -> App:
    """The application as the environment sets it up. Raises BadSetting where a variable holds what it cannot."""
    chosen = settings.read(os.environ)
    logs.configure(chosen.log_level)
    log = structlog.get_logger(__name__)
    for name in settings.unknown(os.environ):
        log.warning("setting.unknown", variable=name)
    world = bundled()
    if chosen.hub_url:
        world = msgspec.structs.replace(world, guests={})
    redis = settings.redis_address(chosen)
    where = None if redis is None else str(redis)  # as text it has no passwords
    log.info("service.starting", release=__version__, catalogue=world.version, as_of=world.as_of, redis=where)
    door = _door(world, redis, chosen)
    gc.collect()
    gc.freeze()  # what is here stays: looking through it for garbage would stop answers for a tenth of a second
    return _traced(door) if chosen.traces else door


def _door(world: World, redis: Address | None, chosen: Settings) -> Door:
    """The door over what there is: *world*, or the snapshot that Redis names; the hub, or none; a limit, or none."""
    meter = Meter()
    follower = None if redis is None else _follower(world, redis, chosen)
    limiter = _limiter(redis, chosen, meter) if redis and chosen.rate_limit_per_minute else None
    hub = _hub(follower, chosen) if chosen.hub_url else None
    current = (lambda: world) if follower is None else follower.world
    told = figures(meter, [Standing(current, None if follower is None else follower.tally)])
    board = Board(Path(chosen.metrics_folder), told) if chosen.metrics and chosen.metrics_folder else None

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as running:
            await running.enter_async_context(ending_with_parent())
            if follower is not None:
                await running.enter_async_context(follower.running(wait_seconds=_FIRST_POLL_SECONDS))
            if limiter is not None:
                await running.enter_async_context(limiter.running())
            if hub is not None:
                running.push_async_callback(hub.aclose)
            if board is not None:
                await running.enter_async_context(board.running())
            yield

    around = Surroundings(
        meter=meter,
        told=board or told,
        limiter=limiter,
        fetch=None if hub is None else hub.model,
        lifespan=[lifespan],
    )
    return build(OPERATIONS, current, chosen, around)


# These import when they are called: who runs without Redis or a hub should not wait for their clients.
def _follower(world: World, redis: Address, chosen: Settings) -> Follower:
    from cardmatch.catalogue.shared.connect import Link  # noqa: PLC0415
    from cardmatch.catalogue.shared.follower import Follower  # noqa: PLC0415
    from cardmatch.catalogue.shared.store import Keys  # noqa: PLC0415

    link = Link(redis, settings.redis_tls(chosen))
    return Follower(world, link, Keys(chosen.redis_namespace), poll_seconds=chosen.redis_poll_seconds)


def _limiter(redis: Address, chosen: Settings, meter: Meter) -> Limiter:
    from cardmatch.catalogue.shared.connect import Link  # noqa: PLC0415
    from cardmatch.http.limiter import Limiter  # noqa: PLC0415

    link, rate = Link(redis, settings.redis_tls(chosen)), chosen.rate_limit_per_minute
    return Limiter(link, chosen.redis_namespace, per_minute=rate, burst=chosen.rate_limit_burst, outcomes=meter.limited)


def _hub(follower: Follower | None, chosen: Settings) -> Hub:
    from cardmatch.catalogue.hub.client import HubClient  # noqa: PLC0415
    from cardmatch.catalogue.hub.hub import Hub  # noqa: PLC0415

    client = HubClient(chosen.hub_url, chosen.hub_token)
    return Hub(client, None if follower is None else follower.link, chosen.redis_namespace)


def _traced(door: Door) -> App:
    from cardmatch.http.tracing import traced  # noqa: PLC0415 - its packages are an extra

    return traced(door)
