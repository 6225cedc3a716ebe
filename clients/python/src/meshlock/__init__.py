"""Distributed locks without a lock server: the client for Python.

    import meshlock

    with meshlock.lock("gpu", units=2, priority=5) as grant:
        train(grant.fence, grant.slots)

===============  ====================================================================================
``lock``         holds a lock for a ``with``, through the node of this machine
``lock_all``     holds several, all or none; ``Part`` is one of them, with units, say
``Client``       a client of a certain node; ``Grant`` is what it holds, ``Request`` what it waits for
``Lock``, ...    objects with the interface of :mod:`threading`
``aio``          the same for :mod:`asyncio`
===============  ====================================================================================
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from . import aio
from .client import TRY_PATIENCE, Client, Request, RequestAll, default_client
from .errors import (
    BadAddress,
    ClientClosed,
    Garbled,
    LockLost,
    MeshlockError,
    NodeSilent,
    NodeTooOld,
    NoNode,
    Refused,
    RequestOver,
    Timeout,
    Untrusted,
)
from .grants import Grant, GrantAll, Lost
from .locks import BoundedSemaphore, Condition, Lock, ReadersWriterLock, RLock, Semaphore, Session
from .parts import HeldPart, Part, Parts

__version__ = "0.1.0"

__all__ = [
    "TRY_PATIENCE",
    "BadAddress",
    "BoundedSemaphore",
    "Client",
    "ClientClosed",
    "Condition",
    "Garbled",
    "Grant",
    "GrantAll",
    "HeldPart",
    "Lock",
    "LockLost",
    "Lost",
    "MeshlockError",
    "NoNode",
    "NodeSilent",
    "NodeTooOld",
    "Part",
    "RLock",
    "ReadersWriterLock",
    "Refused",
    "Request",
    "RequestAll",
    "RequestOver",
    "Semaphore",
    "Session",
    "Timeout",
    "Untrusted",
    "aio",
    "default_client",
    "lock",
    "lock_all",
    "make_resource",
    "resources",
    "status",
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
) -> AbstractContextManager[Grant]:
    """Holds a lock for a ``with``, by the node of this machine. The arguments are those of :meth:`Client.acquire`."""
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
) -> AbstractContextManager[GrantAll]:
    """Holds several resources for a ``with``, all or none. The arguments are those of :meth:`Client.acquire_all`."""
    return default_client().lock_all(
        parts, priority=priority, deadline=deadline, timeout=timeout, lease=lease, owner=owner
    )


def status(resource: str | None = None, patience: float = 1.0) -> dict[str, Any]:
    """Who holds what and who waits: :meth:`Client.status`."""
    return default_client().status(resource, patience)


def resources() -> list[dict[str, Any]]:
    """What can be locked: :meth:`Client.resources`."""
    return default_client().resources()


def make_resource(name: str, **definition: Any) -> dict[str, Any]:
    """Makes a resource for the whole mesh: :meth:`Client.make_resource`."""
    return default_client().make_resource(name, **definition)
