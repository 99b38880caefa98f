"""One question at a time in a conversation, in the order in which they came."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from graph_agent.agent.queueing import OneAtATime
from graph_agent.errors import BadArgument


class Inside:
    """Counts who is in at once."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.order: list[int] = []

    async def stay(self, queue: OneAtATime, name: str, number: int, seconds: float) -> None:
        async with queue.alone(name, 20):
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(number)
            await asyncio.sleep(seconds)
            self.now -= 1


async def test_one_who_comes_while_another_is_let_in_waits_too() -> None:
    queue, inside = OneAtATime(), Inside()
    asked = []
    # The second waits for the first; the third comes right when the first has left.
    for number, (seconds, pause) in enumerate([(0.05, 0.01), (0.2, 0.05), (0.01, 0.0)]):
        asked.append(asyncio.create_task(inside.stay(queue, "talk", number, seconds)))
        await asyncio.sleep(pause)
    await asyncio.gather(*asked)
    assert inside.most == 1
    assert inside.order == [0, 1, 2]
    assert "talk" not in queue


def test_one_at_a_time_from_several_loops() -> None:
    queue, inside = OneAtATime(), Inside()

    async def visits(seed: int) -> None:
        rng = random.Random(seed)
        for number in range(10):
            await inside.stay(queue, "talk", number, rng.choice([0.0, 0.001, 0.025]))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(visits(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(inside.order) == 40
    assert inside.most == 1
    assert "talk" not in queue


async def test_names_do_not_wait_for_each_other() -> None:
    queue, inside = OneAtATime(), Inside()
    await asyncio.gather(*(inside.stay(queue, f"talk-{number}", number, 0.05) for number in range(3)))
    assert inside.most == 3


async def test_one_who_gives_up_or_is_cancelled_leaves_the_queue() -> None:
    queue, inside = OneAtATime(), Inside()
    first = asyncio.create_task(inside.stay(queue, "talk", 0, 0.3))
    await asyncio.sleep(0.01)
    with pytest.raises(BadArgument, match="still busy"):
        async with queue.alone("talk", 0.03):
            pass
    cancelled = asyncio.create_task(inside.stay(queue, "talk", 1, 0.0))
    await asyncio.sleep(0.01)
    last = asyncio.create_task(inside.stay(queue, "talk", 2, 0.0))
    cancelled.cancel()
    await asyncio.wait_for(asyncio.gather(first, last), 5)
    assert inside.order == [0, 2]
    assert "talk" not in queue
