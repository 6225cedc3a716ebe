"""The same for :mod:`asyncio`.

    async with meshlock.aio.lock("gpu", units=2, priority=5) as grant:
        await grant.run(train(grant.fence))

Connection and renewals are those of :class:`meshlock.Client`, on its thread: a task that blocks the event loop for a
while does not lose its locks. A client may be shared by threads and event loops. Cancelling a task takes its request
back.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime

from ..parts import Parts
from .client import Client, Grant, GrantAll, Lost, default_client
from .locks import BoundedSemaphore, Condition, Lock, ReadersWriterLock, RLock, Semaphore, Session

__all__ = [
    "BoundedSemaphore",
    "Client",
    "Condition",
    "Grant",
    "GrantAll",
    "Lock",
    "Lost",
    "RLock",
    "ReadersWriterLock",
    "Semaphore",
    "Session",
    "default_client",
    "lock",
    "lock_all",
]


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


def lock_all(
    parts: Parts,
    *,
    priority: int | None = None,
    deadline: int | datetime | None = None,
    timeout: float | None = None,
    lease: float | None = None,
    owner: str | None = None,
) -> AbstractAsyncContextManager[GrantAll]:
    """Holds several for an ``async with``, all or none: see :meth:`meshlock.Client.acquire_all`."""
    return default_client().lock_all(
        parts, priority=priority, deadline=deadline, timeout=timeout, lease=lease, owner=owner
    )
