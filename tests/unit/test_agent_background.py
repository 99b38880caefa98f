"""The loop that questions run on: whoever waits when it is stopped is told, and nothing starts it again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from graph_agent.agent.background import BackgroundLoop
from graph_agent.errors import EngineUnavailable

PATIENCE_S = 10.0


async def endless() -> AsyncGenerator[int]:
    yield 1
    await asyncio.sleep(3_600)
    yield 2


def iterated(loop: BackgroundLoop, started: Callable[[], None]) -> None:
    for _ in loop.iterate(endless()):
        started()


def followed(loop: BackgroundLoop, started: Callable[[], None]) -> None:
    async def read() -> None:
        async for _ in loop.follow(endless()):
            started()

    asyncio.run(read())


def ran(loop: BackgroundLoop, started: Callable[[], None]) -> None:
    async def work() -> None:
        started()
        await asyncio.sleep(3_600)

    loop.run(work())


def ran_from_a_loop(loop: BackgroundLoop, started: Callable[[], None]) -> None:
    async def work() -> None:
        started()
        await asyncio.sleep(3_600)

    asyncio.run(loop.arun(work()))


@pytest.mark.parametrize("waiting", [iterated, followed, ran, ran_from_a_loop])
def test_whoever_waits_is_told_that_it_was_closed(
    waiting: Callable[[BackgroundLoop, Callable[[], None]], None],
) -> None:
    loop = BackgroundLoop()
    started = threading.Event()
    told: list[BaseException] = []

    def wait() -> None:
        try:
            waiting(loop, started.set)
        except BaseException as error:
            told.append(error)

    caller = threading.Thread(target=wait, daemon=True)
    caller.start()
    assert started.wait(PATIENCE_S)
    loop.stop()
    caller.join(PATIENCE_S)
    assert not caller.is_alive(), "the caller waits for ever"
    assert [type(error) for error in told] == [EngineUnavailable]
    assert "closed" in str(told[0])


def test_nobody_waits_for_ever_whenever_it_is_stopped() -> None:
    for number in range(40):
        loop = BackgroundLoop()
        begin = threading.Barrier(5)

        def ask(loop: BackgroundLoop = loop, begin: threading.Barrier = begin) -> str:
            begin.wait(PATIENCE_S)
            try:
                for _ in loop.iterate(endless()):
                    pass
            except EngineUnavailable:
                return "told"
            return "ended"

        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask) for _ in range(4)]
            begin.wait(PATIENCE_S)
            time.sleep(0.0001 * number)
            loop.stop()
            assert [one.result(PATIENCE_S) for one in asked] == ["told"] * 4


def test_a_stopped_loop_stays_stopped() -> None:
    async def work() -> int:
        return 1

    loop = BackgroundLoop()
    assert loop.run(work()) == 1
    loop.stop()
    loop.stop()
    before = threading.active_count()
    uses: list[Callable[[], Any]] = [
        lambda: loop.run(work()),
        lambda: list(loop.iterate(endless())),
        lambda: asyncio.run(loop.arun(work())),
    ]
    for use in uses:
        with pytest.raises(EngineUnavailable, match="closed"):
            use()
    assert threading.active_count() == before


async def test_a_caller_who_is_cancelled_stays_cancelled() -> None:
    loop = BackgroundLoop()
    ended = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.set()

    task = asyncio.create_task(loop.arun(work()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, PATIENCE_S), "what it waited for goes on"
    loop.stop()
