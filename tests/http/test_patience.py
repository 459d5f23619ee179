"""Waiting, but not for ever."""

from __future__ import annotations

import asyncio

import pytest

from cardmatch.http.patience import Patience, TooSlow


def test_what_comes_in_time_is_given_back() -> None:
    """A wait that ends by itself is nothing special, nor is the next one."""

    async def twice() -> list[int]:
        patience = Patience(0.2, 0.01)
        return [await patience.wait(asyncio.sleep(0.03, value)) for value in (1, 2)]

    assert asyncio.run(twice()) == [1, 2]


def test_what_does_not_come_is_given_up() -> None:
    """Only the task that waits too long is interrupted, and it may go on afterwards."""

    async def some() -> list[object]:
        patience = Patience(0.05, 0.01)

        async def one(seconds: float) -> object:
            try:
                return await patience.wait(asyncio.sleep(seconds, "came"))
            except TooSlow:
                await asyncio.sleep(0)
                return "gave up"

        return list(await asyncio.gather(one(0.01), one(10), one(0.02)))

    assert asyncio.run(some()) == ["came", "gave up", "came"]


def test_time_counts_from_when_it_began() -> None:
    """Many short waits are one long one where they share their beginning: a trickle does not keep a slot for ever."""

    async def trickle() -> int:
        patience = Patience(0.1, 0.01)
        since = asyncio.get_running_loop().time()
        for count in range(100):
            try:
                await patience.wait(asyncio.sleep(0.02), since)
            except TooSlow:
                return count
        return 100

    assert 2 <= asyncio.run(trickle()) <= 20


def test_being_cancelled_by_others_stays_that() -> None:
    """A server that stops cancels its tasks; that is not mistaken for a slow client."""

    async def cancelled() -> None:
        task = asyncio.create_task(Patience(10).wait(asyncio.sleep(10)))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_nothing_is_swept_when_nobody_waits() -> None:
    """The sweep ends with the last wait, so an idle service does not wake up."""

    async def idle() -> bool:
        patience = Patience(1, 0.01)
        await patience.wait(asyncio.sleep(0))
        await asyncio.sleep(0.05)
        return patience._sweeping

    assert asyncio.run(idle()) is False
