"""Objects with the interface of :mod:`threading`, for code that has it already.

They are shared by name: two objects of one name, in one process or on two machines, are one lock. What differs from
:mod:`threading`, because the lock is not in this process:

- ``release`` raises :class:`LockLost` if the lock was lost while it was held; so does the end of ``with``.
- ``locked`` tells whether *this object* holds it.
- A try (``blocking=False``) asks the node, and may take half a second if the token has to come from another node.
- An object that is dropped while it holds gives back.
- After ``fork`` the child holds nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from .client import Client, default_client
from .errors import LockLost, Refused, Timeout
from .grants import Grant


class _Named:
    """A resource of the mesh, made with a kind before its first use."""

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

    def _make(self) -> None:
        if not self._is_made:
            ensure_kind(self._client, self.name, self._kind or "mutex", self._capacity)
            self._is_made = True


def ensure_kind(client: Client, name: str, kind: str, capacity: int | None) -> None:
    """Makes the resource. One that exists is left as it is, but must be of this kind, and of this capacity if given."""
    found = client.resource(name)
    if found is None:
        try:
            client.make_resource(name, kind=kind, capacity=capacity)
            return
        except Refused as refused:
            # Another client may have made it meanwhile, with a lease of its own, say.
            found = client.resource(name)
            if refused.reason != "conflict" or found is None:
                raise
    definition = found["definition"]
    fits = definition["kind"] == kind or (
        kind == "semaphore" and definition["kind"] == "mutex" and capacity in (None, 1)
    )
    if not fits or capacity not in (None, definition["capacity"]):
        has = f"{definition['kind']} of capacity {definition['capacity']}"
        wanted = kind if capacity is None else f"{kind} of capacity {capacity}"
        raise Refused("conflict", f"{name!r} is a {has}, not a {wanted}: use another name, or what it is")


class _Held:
    """The grants of an object. Each is known by the thread that got it, so that one thread does not give back what
    another one got after the first had lost its own."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._grants: list[tuple[int, Grant]] = []

    def add(self, grant: Grant) -> None:
        me = threading.get_ident()
        with self._mutex:
            # What this thread lost before and never gave back.
            self._grants = [(thread, old) for thread, old in self._grants if thread != me or not old.lost.is_set()]
            self._grants.append((me, grant))

    def take(self, count: int = 1) -> list[Grant]:
        """The newest of this thread first, then the oldest of others; none if there are fewer."""
        me = threading.get_ident()
        with self._mutex:
            if len(self._grants) < count:
                return []
            mine = [pair for pair in reversed(self._grants) if pair[0] == me]
            others = [pair for pair in self._grants if pair[0] != me]
            taken = (mine + others)[:count]
            for pair in taken:
                self._grants.remove(pair)
        return [grant for _, grant in taken]

    def live(self) -> list[Grant]:
        with self._mutex:
            return [grant for _, grant in self._grants if not grant.lost.is_set()]


def patience(blocking: bool, timeout: float | None) -> float | None:
    """The arguments of :meth:`threading.Lock.acquire` as the timeout of a request."""
    if not blocking:
        if timeout is not None and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        return 0.0
    if timeout is None or timeout == -1:
        return None
    if timeout < 0:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")
    return timeout


class Lock(_Named):
    """A mutex of the mesh with the interface of :class:`threading.Lock`; `options` are those of ``Client.acquire``."""

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, None, None)
        self._options = options
        self._held = _Held()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """``True`` when it is held; ``False`` if it was not granted in time."""
        try:
            grant = self._client.acquire(self.name, timeout=patience(blocking, timeout), **self._options)
        except Timeout:
            return False
        self._held.add(grant)
        return True

    def release(self) -> None:
        """Gives back; also what another thread acquired, as with :class:`threading.Lock`."""
        taken = self._held.take()
        if not taken:
            raise RuntimeError("release unlocked lock")
        taken[0].release()

    def locked(self) -> bool:
        """Whether this object holds it."""
        return bool(self._held.live())

    @property
    def grant(self) -> Grant | None:
        """What this object holds: its fence, its loss."""
        live = self._held.live()
        return live[-1] if live else None

    def __enter__(self) -> Grant:
        self.acquire()
        return self._held.live()[-1] if self.locked() else self._gone()

    def _gone(self) -> Grant:
        raise LockLost(self.name, "it was lost at the moment it was granted")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except LockLost:
            if error is None:
                raise

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} meshlock.{type(self).__name__} object {self.name!r} at {id(self):#x}>"


class RLock(_Named):
    """A mutex of the mesh that a thread may acquire again, with the interface of :class:`threading.RLock`.

    Only the first acquisition asks the node. Recursion is of threads of this process: two processes exclude each other.
    """

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, None, None)
        self._options = options
        self._mutex = threading.Lock()
        self._owner: int | None = None
        self._count = 0
        self._grant: Grant | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """``True`` when this thread holds it.

        :raises LockLost: this thread held it, and lost it; release it first.
        """
        limit = patience(blocking, timeout)
        if self._is_owned():
            assert self._grant is not None
            self._grant.check()
            self._count += 1
            return True
        try:
            grant = self._client.acquire(self.name, timeout=limit, **self._options)
        except Timeout:
            return False
        self._own(grant, 1)
        return True

    def _own(self, grant: Grant, count: int) -> None:
        with self._mutex:
            # If another thread is still said to own it, it has lost it: its release will say so.
            self._owner, self._count, self._grant = threading.get_ident(), count, grant

    def release(self) -> None:
        """Gives back with the last of as many releases as there were acquisitions.

        :raises RuntimeError: this thread does not hold it; or no longer does, and another thread has got it since.
        """
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._disown().release()

    def _disown(self) -> Grant:
        with self._mutex:
            grant, self._grant, self._owner, self._count = self._grant, None, None, 0
        assert grant is not None
        return grant

    def locked(self) -> bool:
        """Whether a thread of this process holds it through this object."""
        grant = self._grant
        return grant is not None and not grant.lost.is_set()

    @property
    def grant(self) -> Grant | None:
        """What this object holds: its fence, its loss."""
        return self._grant

    def __enter__(self) -> Grant:
        self.acquire()
        assert self._grant is not None
        return self._grant

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except LockLost:
            if error is None:
                raise

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        where = f"owner={self._owner} count={self._count} at {id(self):#x}"
        return f"<{state} meshlock.RLock object {self.name!r} {where}>"

    # What threading.Condition needs.

    def _is_owned(self) -> bool:
        return self._owner == threading.get_ident()

    def _recursion_count(self) -> int:
        return self._count if self._is_owned() else 0

    def _release_save(self) -> int:
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        count = self._count
        self._disown().release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._own(self._client.acquire(self.name, **self._options), count)


class Semaphore(_Named):
    """A semaphore of the mesh with the interface of :class:`threading.Semaphore`.

    `value` is the capacity in the whole mesh: the semaphore is made with it if it does not exist, and must have it
    if it does. Without `value` it is taken as it is. Releases beyond what was acquired are refused, as with
    :class:`threading.BoundedSemaphore`: capacity is changed with :meth:`Client.set_capacity`.
    """

    def __init__(self, name: str, value: int | None = None, client: Client | None = None, **options: Any) -> None:
        if value is not None and value < 1:
            raise ValueError("a semaphore of the mesh has at least 1 unit")
        super().__init__(name, client, "semaphore", value)
        if value is None:
            self._is_made = True
        self._options = options
        self._held = _Held()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """``True`` when one more unit is held."""
        limit = patience(blocking, timeout)
        self._make()
        try:
            grant = self._client.acquire(self.name, timeout=limit, **self._options)
        except Timeout:
            return False
        self._held.add(grant)
        return True

    def release(self, n: int = 1) -> None:
        """Gives `n` units back; also what other threads acquired through this object."""
        if n < 1:
            raise ValueError("n must be one or more")
        taken = self._held.take(n)
        if not taken:
            raise ValueError(f"semaphore released too many times: this object does not hold {n}")
        losses = []
        for grant in taken:
            try:
                grant.release()
            except LockLost as lost:
                losses.append(lost)
        if losses:
            raise losses[0]

    @property
    def grants(self) -> list[Grant]:
        """What this object holds, the oldest first."""
        return self._held.live()

    def __enter__(self) -> Grant:
        limit = None
        self._make()
        grant = self._client.acquire(self.name, timeout=limit, **self._options)
        self._held.add(grant)
        return grant

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except LockLost:
            if error is None:
                raise

    def __repr__(self) -> str:
        of = "" if self._capacity is None else f" of {self._capacity}"
        held = len(self._held.live())
        return f"<meshlock.{type(self).__name__} {self.name!r} at {id(self):#x}: this object holds {held}{of}>"


class BoundedSemaphore(Semaphore):
    """The same: every semaphore of the mesh is bounded."""


class Condition(threading.Condition):
    """A condition over a lock of the mesh. **Notifications stay in this process.**

    While a thread waits, the lock is free for the whole mesh, and it is held again afterwards. But ``notify`` wakes
    threads that wait on this very object. What another process changed under the lock is seen after the next
    wake-up: give
    ``wait`` a timeout, or send a message of your own.
    """

    def __init__(self, lock: Lock | RLock | threading.Lock) -> None:
        super().__init__(lock)  # type: ignore[arg-type]


class ReadersWriterLock(_Named):
    """Many readers or one writer, in the whole mesh."""

    def __init__(self, name: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, "readers-writer", None)
        self._options = options

    @contextmanager
    def read(self, timeout: float | None = None) -> Iterator[Grant]:
        """Together with other readers."""
        self._make()
        with self._client.lock(self.name, shared=True, timeout=timeout, **self._options) as grant:
            yield grant

    @contextmanager
    def write(self, timeout: float | None = None) -> Iterator[Grant]:
        """Alone."""
        self._make()
        with self._client.lock(self.name, shared=False, timeout=timeout, **self._options) as grant:
            yield grant


class Session(_Named):
    """All who attend the same session of a resource are inside together; other sessions wait."""

    def __init__(self, name: str, session: str, client: Client | None = None, **options: Any) -> None:
        super().__init__(name, client, "sessions", None)
        self.session = session
        self._options = options
        self._held = _Held()

    @contextmanager
    def attend(self, timeout: float | None = None) -> Iterator[Grant]:
        """Attends it for a ``with``."""
        self._make()
        with self._client.lock(self.name, session=self.session, timeout=timeout, **self._options) as grant:
            yield grant

    def __enter__(self) -> Grant:
        self._make()
        grant = self._client.acquire(self.name, session=self.session, **self._options)
        self._held.add(grant)
        return grant

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._held.take()[0] as grant:
            if error is not None:
                grant._release(False)
