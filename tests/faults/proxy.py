"""A way to Redis with a bad line in it: late, or cut after so many bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.redis_server import RedisServer


class Proxy:
    """Hands everything on between a socket of its own and a server's."""

    def __init__(self, server: RedisServer) -> None:
        """Nothing is late or cut yet."""
        self._server = server
        self.socket: Path = server.folder / "p.sock"
        self.late_seconds = 0.0
        self.cut_after_bytes: int | None = None
        self.on_cut: Callable[[], None] = lambda: None
        self._lines: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address of this end."""
        return self._server.url.replace("r.sock", "p.sock")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take connections while the block runs."""
        listening = await asyncio.start_unix_server(self._line, str(self.socket))
        try:
            yield
        finally:
            listening.close()
            for line in self._lines:
                line.cancel()
            await asyncio.gather(*self._lines, return_exceptions=True)

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_unix_connection(str(self._server.socket))
            ways = [asyncio.ensure_future(self._ask(reader, back)), asyncio.ensure_future(self._answer(there, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
                back.close()
        writer.close()
        self._lines.discard(task)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passed = 0
        while part := await reader.read(1 << 16):
            if self.cut_after_bytes is not None and passed + len(part) > self.cut_after_bytes:
                writer.write(part[: max(self.cut_after_bytes - passed, 0)])
                await writer.drain()
                self.on_cut()
                return
            passed += len(part)
            writer.write(part)
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Each part as late as it should be; those that come together stay together."""
        clock = asyncio.get_running_loop().time
        parts: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def hand_on() -> None:
            while True:
                due, part = await parts.get()
                await asyncio.sleep(due - clock())
                writer.write(part)
                await writer.drain()

        handing_on = asyncio.ensure_future(hand_on())
        try:
            while part := await reader.read(1 << 16):
                parts.put_nowait((clock() + self.late_seconds, part))
        finally:
            handing_on.cancel()
