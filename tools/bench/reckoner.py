"""The echo of `echo`, which asks the engine about each body before it sends it back: a bare server and engine time.

A call of the engine takes a third longer on a server than in a loop of its own, as all Python does there: the server's
other threads and the kernel take turns with it on the processor's caches. What it adds to an echo is therefore measured
where the service runs it.
"""

from __future__ import annotations

import gc
from typing import Any

from tools.bench.echo import app as echo
from tools.bench.mix import mixes

_ENGINES = {mix.path: mix.engines for mix in mixes()}
gc.collect()
gc.freeze()  # as the service does


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Echo a body of a mix after a call of the engine, which is prepared: nothing is decoded, looked up or said."""
    engines = _ENGINES.get(scope.get("path", ""), {})
    await echo(scope, receive, send, lambda body: engines[body]())
