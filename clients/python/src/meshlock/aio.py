"""The same for :mod:`asyncio`.

    async with meshlock.aio.lock("gpu", units=2, priority=5) as grant:
        await grant.run(train(grant.fence))

Connection and renewals are those of :class:`meshlock.Client`, on its thread: a task that blocks the event loop for a
while does not lose its locks. A client may be shared by threads and event loops. Cancelling a task takes its request
back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import client as _sync
from ._core import HELD, Ask, Info
from .client import OnLoss, loss_after, loss_of
from .errors import LockLost, Timeout
from .locks import ensure_kind

T = TypeVar("T")

__all__ = [
    "BoundedSemaphore",
    "Client",
    "Condition",
    "Grant",
    "Lock",
    "RLock",
    "ReadersWriterLock",
    "Semaphore",
    "Session",
    "default_client",
    "lock",
]


class Client:
    """A client of a node: the arguments are those of :class:`meshlock.Client`, or one of those as `shared_with`."""

    def __init__(self, *arguments: Any, shared_with: _sync.Client | None = None, **options: Any) -> None:
        if shared_with is not None and (arguments or options):
            raise ValueError("a client that is shared has its address already")
        self._is_ours = shared_with is None
        self.sync = shared_with if shared_with is not None else _sync.Client(*arguments, **options)
        """The client behind it, with the same connection, for threads."""

    async def acquire(
        self,
        name: str,
        *,
        units: int | None = None,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        session: str | None = None,
        shared: bool | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> Grant:
        """Waits for a lock and returns it: see :meth:`meshlock.Client.acquire`."""
        _sync._check_timeout(timeout)
        body = self.sync._body(name, units, priority, deadline, session, shared, lease, owner)
        signals = _LoopSignals(asyncio.get_running_loop(), _sync._Signals())
        request = self.sync._submit(body, signals.threads, signals)
        try:
            await signals.settles(timeout)
            if timeout is not None and not request.done():
                await self._try_on(request, signals, timeout)
            if not request.done() and request.cancel():
                raise request._not_in_time(timeout or 0.0)
        except BaseException:
            if not request.done() or request._ask.state == HELD:
                request._give_up()
            raise
        request._check_failed()
        request._taken = True
        return Grant(self, request._ask, signals)

    async def _try_on(self, request: _sync.Request, signals: _LoopSignals, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        spent = monotonic() - request._ask.asked_at
        until = loop.time() + max(timeout, self.sync.try_patience) - spent
        while not request.done() and not request._is_certainly_taken() and loop.time() < until:
            signals.has_news.clear()
            if not request.done() and not request._is_certainly_taken():
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(signals.has_news.wait(), max(0.0, until - loop.time()))

    @asynccontextmanager
    async def lock(
        self,
        name: str,
        *,
        units: int | None = None,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        session: str | None = None,
        shared: bool | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> AsyncIterator[Grant]:
        """The same for ``async with``. Raises :class:`meshlock.LockLost` at the end if it was lost meanwhile."""
        grant = await self.acquire(
            name,
            units=units,
            priority=priority,
            deadline=deadline,
            session=session,
            shared=shared,
            timeout=timeout,
            lease=lease,
            owner=owner,
        )
        async with grant:
            yield grant

    async def close(self) -> None:
        """Ends the connection, and with it everything that is held or waited for; not that of a shared client."""
        if self._is_ours:
            await _in_thread(self.sync.close)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def status(self, resource: str | None = None, patience: float = 1.0) -> Info:
        """Who holds what and who waits: :meth:`meshlock.Client.status`."""
        return await _in_thread(self.sync.status, resource, patience)

    async def resources(self) -> list[Info]:
        """What can be locked: :meth:`meshlock.Client.resources`."""
        return await _in_thread(self.sync.resources)

    async def make_resource(self, name: str, **definition: Any) -> Info:
        """Makes a resource for the whole mesh: :meth:`meshlock.Client.make_resource`."""
        return await _in_thread(lambda: self.sync.make_resource(name, **definition))


async def _in_thread(call: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, lambda: call(*arguments))


class _LoopSignals:
    """Tells tasks of one event loop what happened to a request, and threads as well."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: _sync._Signals) -> None:
        self.loop = loop
        self.threads = threads
        self.is_settled: asyncio.Future[None] = loop.create_future()
        self.has_news = asyncio.Event()
        self.is_lost: asyncio.Future[None] = loop.create_future()
        self.on_lost: list[Callable[[], object]] = []

    def news(self) -> None:
        self.threads.news()
        self._soon(self.has_news.set)

    def settled(self) -> None:
        self.threads.settled()
        self._soon(self._settle)

    def lost(self) -> None:
        self.threads.lost()
        self._soon(self._lose)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no task is left to be told
            self.loop.call_soon_threadsafe(call)

    def _settle(self) -> None:
        self.has_news.set()
        if not self.is_settled.done():
            self.is_settled.set_result(None)

    def _lose(self) -> None:
        if not self.is_lost.done():
            self.is_lost.set_result(None)
        calls, self.on_lost = self.on_lost, []
        for call in calls:
            self.loop.call_soon(call)

    async def settles(self, timeout: float | None) -> None:
        await asyncio.wait([self.is_settled], timeout=timeout)


class Lost:
    """Like :class:`asyncio.Event`: set when the lock is lost."""

    def __init__(self, ask: Ask, signals: _LoopSignals) -> None:
        self._ask = ask
        self._signals = signals

    def is_set(self) -> bool:
        """By our own clock: also right at the moment when a program wakes that was stopped."""
        return loss_of(self._ask) is not None

    async def wait(self) -> bool:
        """Waits until it is lost; without end if it is released."""
        while not self.is_set():
            # At the end of the lease at the latest we see it ourselves, whatever the thread of the client does.
            timeout = self._ask.remaining() + 0.001 if self._ask.state == HELD else None
            await asyncio.wait([self._signals.is_lost], timeout=timeout)
        return True


class Grant:
    """What is held: as :class:`meshlock.Grant`, for tasks of one event loop."""

    def __init__(self, client: Client, ask: Ask, signals: _LoopSignals) -> None:
        self._client = client
        self._signals = signals
        self._ask = ask
        self._grant = _sync.Grant(client.sync, ask, signals.threads)
        self.name = self._grant.name
        self.fence = self._grant.fence
        self.slots = self._grant.slots
        self.slot_names = self._grant.slot_names
        self.units = self._grant.units
        self.session = self._grant.session
        self.waited = self._grant.waited
        self.lost = Lost(ask, signals)
        """Like :class:`asyncio.Event`: set when it is lost."""

    def __repr__(self) -> str:
        return repr(self._grant).replace("meshlock.Grant", "meshlock.aio.Grant")

    @property
    def id(self) -> str:
        """The id of its request at the node."""
        return self._ask.id

    @property
    def loss(self) -> LockLost | None:
        """Why it is lost, if it is."""
        return loss_of(self._ask)

    def remaining(self) -> float:
        """Seconds for which it is certainly held if nothing more is heard of the node."""
        return self._ask.remaining()

    def check(self) -> None:
        """Raises :class:`meshlock.LockLost` if it is lost, as far as can be known at this moment."""
        self._grant.check()

    def on_loss(self, call: OnLoss) -> None:
        """Calls back when it is lost, in the event loop; at once if it is already."""
        ask = self._ask

        def tell() -> None:
            if isinstance(ask.error, LockLost):
                call(ask.error)

        if self._signals.is_lost.done():
            self._signals.loop.call_soon(tell)
        else:
            self._signals.on_lost.append(tell)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Does some work and returns its result, or cancels it and raises :class:`meshlock.LockLost`.

        Work that ended after the lock was lost counts as lost: another client may have been let in before it ended.
        """
        task = asyncio.ensure_future(work)
        lost = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait([task, lost], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self.check()
        except BaseException:
            if task.done() and not task.cancelled():
                task.exception()  # seen: the loss says more
            raise
        finally:
            task.cancel()
            lost.cancel()
        return task.result()

    async def release(self) -> None:
        """Gives it back, and waits until the node has heard it.

        :raises meshlock.LockLost: it was lost before. The node is told all the same: it may wait for that.
        """
        await self._release(True)

    async def _release(self, is_wanted: bool) -> None:
        answered: asyncio.Future[Info] = self._signals.loop.create_future()

        def done(said: Info) -> None:
            self._signals._soon(lambda: None if answered.done() else answered.set_result(said))

        if self._start_release(is_wanted, done):
            patience = min(_sync.PATIENCE, max(self._ask.remaining(), 0.1))
            await asyncio.wait([answered], timeout=patience)
            loss = loss_after(self._ask, answered.result() if answered.done() else {})
            if is_wanted and loss is not None:
                raise loss

    def _start_release(self, is_wanted: bool, done: Callable[[Info], None]) -> bool:
        if self._grant._released:
            if is_wanted:
                raise RuntimeError(f"{self.name!r} was released before")
            return False
        self._grant._released = True
        self._client.sync._core.release(self._ask, done)
        return True

    def release_soon(self) -> None:
        """Gives it back without waiting for the node.

        :raises meshlock.LockLost: it was lost before.
        """
        loss = self.loss
        self._start_release(True, lambda said: None)
        if loss is not None:
            raise loss

    async def __aenter__(self) -> Grant:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._release(error is None and not self._grant._released)


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
            await _in_thread(ensure_kind, self._client.sync, self.name, self._kind, self._capacity)
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


_default: Client | None = None


def default_client() -> Client:
    """Shares the connection of :func:`meshlock.default_client`."""
    global _default
    behind = _sync.default_client()
    if _default is None or _default.sync is not behind:
        _default = Client(shared_with=behind)
    return _default


def lock(
    name: str,
    *,
    units: int | None = None,
    priority: int | None = None,
    deadline: int | datetime | None = None,
    session: str | None = None,
    shared: bool | None = None,
    timeout: float | None = None,
    lease: float | None = None,
    owner: str | None = None,
) -> AbstractAsyncContextManager[Grant]:
    """Holds a lock for an ``async with``, by the node of this machine: see :meth:`meshlock.Client.acquire`."""
    return default_client().lock(
        name,
        units=units,
        priority=priority,
        deadline=deadline,
        session=session,
        shared=shared,
        timeout=timeout,
        lease=lease,
        owner=owner,
    )
