"""Asking and holding, for tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Any, Callable, TypeVar

from .. import client as _sync
from .. import grants as _grants
from .._ask import HELD, Ask, Info
from ..errors import LockLost
from ..grants import OnLoss, loss_after, loss_of
from ..parts import Part, Parts, bodies

T = TypeVar("T")
H = TypeVar("H", bound="Holding")


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
        common = self.sync._common(priority, deadline, lease, owner)
        body = {**Part(name, units, session, shared).body(), **common}
        return Grant(self, *await self._settle(body, timeout))

    async def acquire_all(
        self,
        parts: Parts,
        *,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> GrantAll:
        """Waits for several resources, all or none: see :meth:`meshlock.Client.acquire_all`."""
        _sync._check_timeout(timeout)
        body = {"all": bodies(parts), **self.sync._common(priority, deadline, lease, owner)}
        return GrantAll(self, *await self._settle(body, timeout))

    async def _settle(self, body: Info, timeout: float | None) -> tuple[Ask, _LoopSignals]:
        signals = _LoopSignals(asyncio.get_running_loop(), _grants.Signals())
        request = self.sync._submit(_sync.Request, body, signals.threads, signals)
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
        return request._ask, signals

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

    @asynccontextmanager
    async def lock_all(
        self,
        parts: Parts,
        *,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> AsyncIterator[GrantAll]:
        """The same for ``async with``. Raises :class:`meshlock.LockLost` at the end if one was lost meanwhile."""
        grant = await self.acquire_all(
            parts, priority=priority, deadline=deadline, timeout=timeout, lease=lease, owner=owner
        )
        async with grant:
            yield grant

    async def close(self) -> None:
        """Ends the connection, and with it everything that is held or waited for; not that of a shared client."""
        if self._is_ours:
            await in_thread(self.sync.close)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def status(self, resource: str | None = None, patience: float = 1.0) -> Info:
        """Who holds what and who waits: :meth:`meshlock.Client.status`."""
        return await in_thread(self.sync.status, resource, patience)

    async def resources(self) -> list[Info]:
        """What can be locked: :meth:`meshlock.Client.resources`."""
        return await in_thread(self.sync.resources)

    async def make_resource(self, name: str, **definition: Any) -> Info:
        """Makes a resource for the whole mesh: :meth:`meshlock.Client.make_resource`."""
        return await in_thread(lambda: self.sync.make_resource(name, **definition))


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, lambda: call(*arguments))


class _LoopSignals:
    """Tells tasks of one event loop what happened to a request, and threads as well."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: _grants.Signals) -> None:
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


class Holding:
    """What one and several have in common."""

    def __init__(self, client: Client, signals: _LoopSignals, grant: _grants.Holding) -> None:
        self._client = client
        self._signals = signals
        self._ask = grant._ask
        self._grant = grant
        self.name = grant.name
        self.waited = grant.waited
        self.lost = Lost(grant._ask, signals)
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
            patience = min(_grants.PATIENCE, max(self._ask.remaining(), 0.1))
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

    async def __aenter__(self: H) -> H:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._release(error is None and not self._grant._released)


class Grant(Holding):
    """What is held: as :class:`meshlock.Grant`, for tasks of one event loop."""

    def __init__(self, client: Client, ask: Ask, signals: _LoopSignals) -> None:
        grant = _grants.Grant(client.sync, ask, signals.threads)
        super().__init__(client, signals, grant)
        self.fence = grant.fence
        self.slots = grant.slots
        self.slot_names = grant.slot_names
        self.units = grant.units
        self.session = grant.session


class GrantAll(Holding):
    """Several that are held together: as :class:`meshlock.GrantAll`, for tasks of one event loop."""

    def __init__(self, client: Client, ask: Ask, signals: _LoopSignals) -> None:
        grant = _grants.GrantAll(client.sync, ask, signals.threads)
        super().__init__(client, signals, grant)
        self.parts = grant.parts


_default: Client | None = None


def default_client() -> Client:
    """Shares the connection of :func:`meshlock.default_client`."""
    global _default
    behind = _sync.default_client()
    if _default is None or _default.sync is not behind:
        _default = Client(shared_with=behind)
    return _default
