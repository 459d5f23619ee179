"""Whether the process lives and whether it can answer. Neither asks a dependency: with Redis down, answers go on."""

from __future__ import annotations

from litestar import route
from litestar.handlers import HTTPRouteHandler

from cardmatch import __version__
from cardmatch.http.operation import World


def probes(world: World) -> list[HTTPRouteHandler]:
    """`/livez` and `/readyz`, which is ready once there is a catalogue to answer from; the bundled one counts."""

    @route("/livez", http_method=["GET", "HEAD"])
    async def livez() -> dict[str, str]:
        return {"status": "alive", "release": __version__}

    @route("/readyz", http_method=["GET", "HEAD"])
    async def readyz() -> dict[str, str]:
        return {"status": "ready", "release": __version__, "catalogue": world().version}

    return [livez, readyz]
