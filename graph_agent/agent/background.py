"""An event loop in a thread of its own, for callers that have none, or whose own must not be held up."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar

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
        raise
    except BaseException as error:  # noqa: BLE001 - raised again where it is read
        put((None, error))
    else:
        put((None, None))


class BackgroundLoop:
    """An event loop in a thread of its own, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine; an interrupt of the caller cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine, with the caller's context variables."""
        return asyncio.run_coroutine_threadsafe(work, self._started())

    def iterate(self, events: AsyncGenerator[T]) -> Generator[T]:
        """The items of an async generator; leaving early cancels it."""
        items: queue.Queue[_Item[T]] = queue.Queue()
        future = self.submit(_pumped(events, items.put))
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
        """End the loop; what still runs on it is cancelled."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout=JOIN_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
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
