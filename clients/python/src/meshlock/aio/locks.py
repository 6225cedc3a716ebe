"""Objects with the interface of :mod:`asyncio`; what differs is in :mod:`meshlock.locks`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Callable, TypeVar

from .._ask import Info
from ..errors import LockLost, Timeout
from ..locks import ensure_kind
from .client import Client, Grant, default_client, in_thread

T = TypeVar("T")


class _Named:
    def __init__(self, name: str, client: Client | None, kind: str | None, capacity: int | None) -> None:
        self.name = name
        self._client_or_none = client
        self._kind = kind
        self._capacity = capacity
        self._is_made = kind is None

    @property
    def _client(self) -> Client:
        if self._client_or_none is None:
            self._client_or_none = default_client()
        return self._client_or_none

    async def _make(self) -> None:
        if not self._is_made:
            await in_thread(ensure_kind, self._client.sync, self.name, self._kind, self._capacity)
            self._is_made = True


class _Sync(_Named):
    """Acquired and released, many times; each task gives its own back first."""

    def __init__(self, name: str, client: Client | None, kind: str | None, capacity: int | None, options: Info) -> None:
        super().__init__(name, client, kind, capacity)
        self._options = options
        self._grants: list[tuple[Any, Grant]] = []

    async def _acquire(self, timeout: float | None = None) -> Grant:
        await self._make()
        grant = await self._client.acquire(self.name, timeout=timeout, **self._options)
        me = asyncio.current_task()
        self._grants = [(task, old) for task, old in self._grants if task is not me or not old.lost.is_set()]
        self._grants.append((me, grant))
        return grant

    def _take(self) -> Grant | None:
        me = asyncio.current_task()
        mine = [pair for pair in reversed(self._grants) if pair[0] is me]
        for pair in (mine or self._grants)[:1]:
            self._grants.remove(pair)
            return pair[1]
        return None

    def _live(self) -> list[Grant]:
        return [grant for _, grant in self._grants if not grant.lost.is_set()]

    async def __aenter__(self) -> Grant:
        return await self._acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        grant = self._take()
        if grant is not None:
            await grant._release(error is None)


class Lock(_Sync):
    """A mutex of the mesh with the interface of :class:`asyncio.Lock`."""

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, None, None, options)

    async def acquire(self, timeout: float | None = None) -> bool:
        """``True`` when it is held. With a `timeout`, ``False`` if it was not granted in time; 0 is a try."""
        try:
            await self._acquire(timeout)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        """Gives back, without waiting for the node."""
        grant = self._take()
        if grant is None:
            raise RuntimeError("Lock is not acquired.")
        grant.release_soon()

    def locked(self) -> bool:
        """Whether this object holds it."""
        return bool(self._live())

    @property
    def grant(self) -> Grant | None:
        """What this object holds: its fence, its loss."""
        live = self._live()
        return live[-1] if live else None


class RLock(_Named):
    """A mutex of the mesh that the task that holds it may acquire again."""

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, None, None)
        self._options = options
        self._owner: Any = None
        self._count = 0
        self._grant: Grant | None = None

    async def acquire(self, timeout: float | None = None) -> bool:
        """``True`` when this task holds it.

        :raises meshlock.LockLost: this task held it, and lost it; release it first.
        """
        me = asyncio.current_task()
        if self._owner is me:
            assert self._grant is not None
            self._grant.check()
            self._count += 1
            return True
        try:
            grant = await self._client.acquire(self.name, timeout=timeout, **self._options)
        except Timeout:
            return False
        self._owner, self._count, self._grant = me, 1, grant
        return True

    def release(self) -> None:
        """Gives back with the last of as many releases as there were acquisitions."""
        if self._owner is None or self._owner is not asyncio.current_task() or self._grant is None:
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            grant, self._grant, self._owner = self._grant, None, None
            grant.release_soon()

    def locked(self) -> bool:
        """Whether a task holds it through this object."""
        return self._grant is not None and not self._grant.lost.is_set()

    @property
    def grant(self) -> Grant | None:
        """What this object holds: its fence, its loss."""
        return self._grant

    async def __aenter__(self) -> Grant:
        await self.acquire()
        assert self._grant is not None
        return self._grant

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except LockLost:
            if error is None:
                raise


class Semaphore(_Sync):
    """A semaphore of the mesh with the interface of :class:`asyncio.Semaphore`: see :class:`meshlock.Semaphore`."""

    def __init__(self, name: str, value: int | None = None, client: Client | None = None, **options: Any) -> None:
        if value is not None and value < 1:
            raise ValueError("a semaphore of the mesh has at least 1 unit")
        super().__init__(name, client, None if value is None else "semaphore", value, options)

    async def acquire(self, timeout: float | None = None) -> bool:
        """``True`` when one more unit is held; ``False`` if it was not granted within `timeout`; 0 is a try."""
        try:
            await self._acquire(timeout)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        """Gives one unit back, without waiting for the node."""
        grant = self._take()
        if grant is None:
            raise ValueError("semaphore released too many times: this object holds no unit")
        grant.release_soon()

    @property
    def grants(self) -> list[Grant]:
        """What this object holds, the oldest first."""
        return self._live()


class BoundedSemaphore(Semaphore):
    """The same: every semaphore of the mesh is bounded."""


class Condition:
    """A condition over a lock of the mesh. **Notifications stay in this loop**: see :class:`meshlock.Condition`."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._waiters: deque[asyncio.Future[bool]] = deque()
        self.acquire = lock.acquire
        self.release = lock.release
        self.locked = lock.locked

    async def wait(self) -> bool:
        """Gives the lock back until it is notified, and acquires it again, also if it is cancelled."""
        if not self.locked():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self.release()
        try:
            await waiter
            return True
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake(1)  # it was for us; let another one have it
            raise
        finally:
            with suppress(ValueError):
                self._waiters.remove(waiter)
            await self._acquire_again()

    async def _acquire_again(self) -> None:
        again = asyncio.ensure_future(self._lock._acquire())
        cancelled = False
        while not again.done():
            try:
                await asyncio.shield(again)
            except asyncio.CancelledError:
                if again.cancelled():
                    raise
                cancelled = True
        grant = again.result()
        # It was acquired by a task of its own, and is held by this one.
        self._lock._grants = [
            (asyncio.current_task() if held is grant else task, held) for task, held in self._lock._grants
        ]
        if cancelled:
            raise asyncio.CancelledError

    async def wait_for(self, predicate: Callable[[], T]) -> T:
        """Waits until the predicate is true."""
        result = predicate()
        while not result:
            await self.wait()
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        """Wakes `n` tasks that wait on this object."""
        if not self.locked():
            raise RuntimeError("cannot notify on un-acquired lock")
        self._wake(n)

    def notify_all(self) -> None:
        """Wakes all tasks that wait on this object."""
        self.notify(len(self._waiters))

    def _wake(self, n: int) -> None:
        for waiter in [waiter for waiter in self._waiters if not waiter.done()][:n]:
            waiter.set_result(True)

    async def __aenter__(self) -> Condition:
        await self._lock._acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lock.__aexit__(kind, error, trace)


class ReadersWriterLock(_Named):
    """Many readers or one writer, in the whole mesh."""

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, "readers-writer", None)
        self._options = options

    @asynccontextmanager
    async def read(self, timeout: float | None = None) -> AsyncIterator[Grant]:
        """Together with other readers."""
        await self._make()
        async with self._client.lock(self.name, shared=True, timeout=timeout, **self._options) as grant:
            yield grant

    @asynccontextmanager
    async def write(self, timeout: float | None = None) -> AsyncIterator[Grant]:
        """Alone."""
        await self._make()
        async with self._client.lock(self.name, shared=False, timeout=timeout, **self._options) as grant:
            yield grant


class Session(_Sync):
    """All who attend the same session of a resource are inside together; other sessions wait."""

    def __init__(self, name: str, session: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, "sessions", None, {**options, "session": session})
        self.session = session
