"""An event loop in a thread of its own, for callers that have none, or whose own must not be held up."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar

from graph_agent.errors import EngineUnavailable

T = TypeVar("T")
_Item: TypeAlias = tuple[T | None, BaseException | None]
JOIN_S = 10.0


async def _pumped(events: AsyncGenerator[T], put: Callable[[_Item[T]], None]) -> None:
    """Hand over every item, then the end or the error."""
    try:
        async with aclosing(events) as source:
            async for item in source:
                put((item, None))
    except asyncio.CancelledError:
        raise  # the future says so to whoever reads; a task cancelled before its first step never comes here
    except BaseException as error:  # noqa: BLE001 - raised again where it is read
        put((None, error))
    else:
        put((None, None))


def _closed() -> EngineUnavailable:
    return EngineUnavailable("The agent was closed.", "Open it again.")


def _told(future: Future[None], put: Callable[[_Item[T]], None]) -> None:
    """Wake the reader of a pump that was cancelled: nothing else will come."""
    if future.cancelled():
        put((None, _closed()))


class BackgroundLoop:
    """An event loop in a thread of its own, started when first needed; once stopped it stays so.

    Whoever waits for something on it when it is stopped gets EngineUnavailable.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine; an interrupt of the caller cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except CancelledError:
            raise _closed() from None
        except BaseException:
            future.cancel()
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """`run` on the caller's event loop."""
        future = self.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if self._stopped and not _cancelled_from_outside():
                raise _closed() from None
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine, with the caller's context variables.

        Raises:
            EngineUnavailable: the loop was stopped.
        """
        # Under the lock, so that nothing is handed to the loop behind its end.
        with self._lock:
            if self._stopped:
                work.close()
                raise _closed()
            return asyncio.run_coroutine_threadsafe(work, self._started())

    def iterate(self, events: AsyncGenerator[T]) -> Generator[T]:
        """The items of an async generator; leaving early cancels it."""
        items: queue.Queue[_Item[T]] = queue.Queue()
        future = self.submit(_pumped(events, items.put))
        future.add_done_callback(lambda done: _told(done, items.put))
        try:
            while True:
                item, error = items.get()
                if error is not None:
                    raise error
                if item is None:
                    return
                yield item
        finally:
            future.cancel()

    async def follow(self, events: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """`iterate` on the caller's event loop."""
        caller = asyncio.get_running_loop()
        items: asyncio.Queue[_Item[T]] = asyncio.Queue()

        def put(item: _Item[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed: nobody listens any more
                caller.call_soon_threadsafe(items.put_nowait, item)

        future = self.submit(_pumped(events, put))
        future.add_done_callback(lambda done: _told(done, put))
        try:
            while True:
                item, error = await items.get()
                if error is not None:
                    raise error
                if item is None:
                    return
                yield item
        finally:
            future.cancel()

    def stop(self) -> None:
        """End the loop; what still runs on it is cancelled. May be called twice."""
        with self._lock:
            self._stopped = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout=JOIN_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._serve, args=(self._loop,), name="graph-agent", daemon=True
            )
            self._thread.start()
        return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


def _cancelled_from_outside() -> bool:
    """Whether it is the caller that was cancelled, and not what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
