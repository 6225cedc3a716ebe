"""Finding a node, asking."""

from __future__ import annotations

import os
import sys
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Any, Callable, Generic, TypeVar, Union
from urllib.parse import quote, urlencode

from . import _http
from ._address import choose, token_of
from ._ask import HELD, WAITING, Ask, Info, Listener
from ._core import Core
from .errors import Garbled, LockLost, MeshlockError, NodeSilent, Refused, Timeout
from .grants import PATIENCE, Grant, GrantAll, H, Signals, wait_for_answer
from .parts import Part, Parts, bodies

TRY_PATIENCE = 0.5
"""How long a try may take: the right to grant an idle lock may be at another node, and has to travel."""
LONGEST_OWNER = 256

R = TypeVar("R", bound="Asking[Any]")
Path = Union[str, "os.PathLike[str]"]


class Client:
    """A client of a node, with one connection for all that it asks.

    Without arguments it finds the node of this machine, as the command ``meshlock`` does: ``MESHLOCK_URL``,
    ``MESHLOCK_SOCKET``, or the usual socket; the token for TCP is in the file that ``MESHLOCK_TOKEN_FILE`` names. The
    connection is made when it is first needed. All methods may be called from all threads.
    """

    def __init__(
        self,
        socket: Path | None = None,
        url: str | None = None,
        token: str | None = None,
        token_file: Path | None = None,
        owner: str | None = None,
        try_patience: float = TRY_PATIENCE,
    ) -> None:
        address = choose(socket, url)
        is_tcp = address.socket is None
        self._core = Core(address, token_of(token, token_file) if is_tcp else None)
        self._owner = owner
        self.try_patience = try_patience

    def __repr__(self) -> str:
        return f"<meshlock.Client of {self._core.address}>"

    @property
    def is_remote(self) -> bool:
        """Whether it speaks TCP: then the end of this program frees nothing before its leases end."""
        return self._core.address.socket is None

    def request(
        self,
        name: str,
        *,
        units: int | None = None,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        session: str | None = None,
        shared: bool | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> Request:
        """Asks, and does not wait: see :class:`Request`. The arguments are those of :meth:`acquire`."""
        body = {**Part(name, units, session, shared).body(), **self._common(priority, deadline, lease, owner)}
        signals = Signals()
        return self._submit(Request, body, signals, signals)

    def request_all(
        self,
        parts: Parts,
        *,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> RequestAll:
        """Asks for several, and does not wait: see :class:`RequestAll` and :meth:`acquire_all`."""
        body = {"all": bodies(parts), **self._common(priority, deadline, lease, owner)}
        signals = Signals()
        return self._submit(RequestAll, body, signals, signals)

    def _submit(self, kind: type[R], body: Info, signals: Signals, listener: Listener) -> R:
        ask = Ask(body, listener)
        request = kind(self, ask, signals)
        self._core.submit(ask)
        return request

    def _common(
        self, priority: int | None, deadline: int | datetime | None, lease: float | None, owner: str | None
    ) -> Info:
        """What is said once, for one resource or for several."""
        body = {
            "urgency": _urgency(priority, deadline),
            "lease_ms": None if lease is None else _milliseconds(lease, "lease"),
            "owner": owner or self._owner or _program(),
        }
        return {key: value for key, value in body.items() if value is not None}

    def acquire(
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
        """Waits for a lock and returns it; release it with :meth:`Grant.release`.

        :param units: how many units of a semaphore, all at once; 1 if not said.
        :param priority: higher goes first; 0 if not said.
        :param deadline: earlier goes first, for resources ordered by deadline: a time, or a number on which all clients
            agree, such as milliseconds since 1970.
        :param session: attend it, together with all others who do.
        :param shared: as a reader of a readers-writer resource; ``False`` as its writer.
        :param timeout: seconds to wait; without limit if ``None``. 0 is a try: no waiting if others hold it.
        :param lease: seconds that it stays taken when this program hangs; the resource's own if not said.
        :param owner: who asks, for people who look at the queue.
        :raises Timeout: not granted in time.
        """
        return self.request(
            name,
            units=units,
            priority=priority,
            deadline=deadline,
            session=session,
            shared=shared,
            lease=lease,
            owner=owner,
        ).result(timeout)

    @contextmanager
    def lock(
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
    ) -> Iterator[Grant]:
        """The same for ``with``, or as a decorator. Raises :class:`LockLost` at the end if it was lost meanwhile."""
        grant = self.acquire(
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
        with grant:
            yield grant

    def acquire_all(
        self,
        parts: Parts,
        *,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> GrantAll:
        """Waits for several resources, all or none, and returns them as one; up to 16, each named once.

        No deadlock: the node asks for them in the order of their names, whatever the order of the list is. What is
        granted first is held while the others are waited for, so keep the list short.

        :param parts: names, or :class:`Part` with units, a session, or as a reader.
        :param timeout: for all of them together.
        :param lease: as for :meth:`acquire`; the shortest of the resources' own if not said.
        """
        request = self.request_all(parts, priority=priority, deadline=deadline, lease=lease, owner=owner)
        return request.result(timeout)

    @contextmanager
    def lock_all(
        self,
        parts: Parts,
        *,
        priority: int | None = None,
        deadline: int | datetime | None = None,
        timeout: float | None = None,
        lease: float | None = None,
        owner: str | None = None,
    ) -> Iterator[GrantAll]:
        """The same for ``with``. Raises :class:`LockLost` at the end if one was lost meanwhile, and so all were."""
        grant = self.acquire_all(parts, priority=priority, deadline=deadline, timeout=timeout, lease=lease, owner=owner)
        with grant:
            yield grant

    def close(self) -> None:
        """Ends the connection, and with it everything that is held or waited for."""
        self._core.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:
            core.abandon()

    # Looking around and making resources, over plain HTTP.

    def status(self, resource: str | None = None, patience: float = 1.0) -> Info:
        """Who holds what and who waits, at all nodes that answer within `patience`; 0 asks this node alone."""
        query = {"patience": f"{max(0, round(patience * 1000))}ms", **({"resource": resource} if resource else {})}
        return self._object("GET", f"/v1/status?{urlencode(query)}", None, PATIENCE + patience)

    def resources(self) -> list[Info]:
        """All resources that the node knows."""
        _, found = self._call("GET", "/v1/resources", None)
        if not isinstance(found, list):
            raise Garbled(str(self._core.address), "not a list")
        return found

    def resource(self, name: str) -> Info | None:
        """One resource, if it is there."""
        status, found = self._call("GET", f"/v1/resources/{quote(name, safe='')}", None)
        return found if status == 200 and isinstance(found, dict) else None

    def make_resource(
        self,
        name: str,
        *,
        kind: str | None = None,
        capacity: int | None = None,
        by_deadline: bool = False,
        aging: int | None = None,
        joins: int | None = None,
        lease: float | None = None,
        protocol: str | None = None,
        slots: Sequence[str] | None = None,
        policy: str | None = None,
    ) -> Info:
        """Makes a resource for the whole mesh. One that is there with the same definition is left as it is.

        :param kind: ``mutex``, ``semaphore``, ``sessions`` or ``readers-writer``.
        :param slots: names for the units of a semaphore, which has as many units then.
        :param policy: ``backfill`` lets smaller requests that fit pass one that waits for more units than
            are free; ``strict`` if not said.
        :raises Refused: it is there with another definition, or makes no sense.
        """
        if by_deadline and aging is not None:
            raise ValueError("a resource that is ordered by deadline has no aging")
        order: Any = "deadline" if by_deadline else None if aging is None else {"priority": {"aging": aging}}
        body = {
            "kind": kind,
            "capacity": capacity,
            "order": order,
            "joins": joins,
            "lease_ms": None if lease is None else _milliseconds(lease, "lease"),
            "protocol": protocol,
            "slots": None if slots is None else list(slots),
            "policy": policy,
        }
        said = {key: value for key, value in body.items() if value is not None}
        return self._object("PUT", f"/v1/resources/{quote(name, safe='')}", said)

    def set_capacity(self, name: str, capacity: int) -> Info:
        """Changes how many units a semaphore has."""
        return self._object("PATCH", f"/v1/resources/{quote(name, safe='')}", {"capacity": capacity})

    def health(self) -> Info:
        """How the node is doing."""
        return self._object("GET", "/v1/health", None)

    def _call(self, method: str, path: str, body: Info | None, timeout: float = PATIENCE) -> tuple[int, Any]:
        return _http.call(self._core.address, self._core.token, method, path, body, timeout)

    def _object(self, method: str, path: str, body: Info | None, timeout: float = PATIENCE) -> Info:
        status, found = self._call(method, path, body, timeout)
        if not isinstance(found, dict):
            raise Garbled(str(self._core.address), "not an object")
        if status == 404:
            raise Refused(str(found.get("reason", "unknown")), str(found.get("message", "no such resource")))
        return found


class Asking(Generic[H]):
    """What requests for one and for several have in common."""

    _kind: type[H]

    def __init__(self, client: Client, ask: Ask, signals: Signals) -> None:
        self._client = client
        self._ask = ask
        self._signals = signals
        self._taken = False

    def __repr__(self) -> str:
        return f"<meshlock.{type(self).__name__} for {self._ask.resource!r}, {self._ask.state}>"

    @property
    def id(self) -> str:
        """Its id at the node."""
        return self._ask.id

    @property
    def info(self) -> Info:
        """The last that the node said of it, such as its ``place`` in the queue."""
        return self._ask.info

    def done(self) -> bool:
        """Whether it is granted, or failed."""
        return self._signals.is_settled.is_set()

    def when_done(self: R, call: Callable[[R], object]) -> None:
        """Calls back when it is granted or failed, on another thread; at once if it is already."""
        self._signals.when_settled(lambda: call(self))

    def result(self, timeout: float | None = None) -> H:
        """Waits for the grant. If it does not come in time, or is interrupted, the request is cancelled."""
        _check_timeout(timeout)
        try:
            self._signals.is_settled.wait(timeout)
            if timeout is not None and not self.done():
                self._try_on(timeout)
            if not self.done() and self.cancel():
                raise self._not_in_time(timeout or 0.0)
        except BaseException:
            if not self.done() or self._ask.state == HELD:
                self._give_up()
            raise
        return self.take()

    def take(self) -> H:
        """The grant of a request that is done, once."""
        self._check_failed()
        if self._taken or not self.done():
            raise RuntimeError("there is nothing to take: the request waits, or its grant was taken before")
        self._taken = True
        return self._kind(self._client, self._ask, self._signals)

    def _check_failed(self) -> None:
        if self._ask.error is not None and not isinstance(self._ask.error, LockLost):
            raise self._ask.error

    def change(self, *, priority: int | None = None, deadline: int | datetime | None = None) -> None:
        """Changes how urgent it is while it waits. Nothing happens if it is granted already."""
        urgency = _urgency(priority, deadline)
        if urgency is None:
            raise ValueError("give a priority or a deadline")
        said = self._wait(lambda done: self._client._core.change(self._ask, urgency, done))
        problem = said.get("problem")
        if problem is not None and self._ask.state == WAITING:
            raise Refused(str(problem["reason"]), str(problem["message"]))

    def cancel(self) -> bool:
        """Takes it back; ``False`` if it is granted or failed already."""
        return self._client._core.cancel(self._ask)

    def _give_up(self) -> None:
        if not self.cancel() and self._ask.state == HELD:
            self._taken = True
            self._client._core.drop(self._ask)

    def _wait(self, start: Callable[[Callable[[Info], None]], None]) -> Info:
        return wait_for_answer(start)

    def _try_on(self, timeout: float) -> None:
        """The time is over. But if the node does not know yet whether it is free, it may find out."""
        until = self._ask.asked_at + max(timeout, self._client.try_patience)
        while not self.done() and not self._is_certainly_taken() and monotonic() < until:
            self._signals.has_news.clear()
            if not self.done() and not self._is_certainly_taken():
                self._signals.has_news.wait(max(0.0, until - monotonic()))

    def _is_certainly_taken(self) -> bool:
        """The token is at our node, which still lets us wait."""
        place = self._ask.info.get("place")
        return self._ask.info.get("state") == "QUEUED" and place is not None and bool(place.get("exact"))

    def _not_in_time(self, timeout: float) -> MeshlockError:
        if not self._ask.info:
            return NodeSilent(
                str(self._client._core.address), f"no answer within {monotonic() - self._ask.asked_at:.1f} s"
            )
        return Timeout(self._ask.resource, timeout, self._ask.info)

    def __del__(self) -> None:
        if not self._taken and self._ask.state in (WAITING, HELD):
            self._client._core.drop(self._ask)


class Request(Asking[Grant]):
    """What was asked for. It waits in the queue until it is granted, cancelled or dropped."""

    _kind = Grant


class RequestAll(Asking[GrantAll]):
    """Several resources, asked for together. Once the node has answered, ``info["parts"]`` has the state of each."""

    _kind = GrantAll


def _check_timeout(timeout: float | None) -> None:
    if timeout is None:
        return
    if timeout < 0:
        raise ValueError("a timeout is not negative; None waits without limit")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("the timeout is too large")


def _urgency(priority: int | None, deadline: int | datetime | None) -> Info | None:
    if priority is not None and deadline is not None:
        raise ValueError("give a priority or a deadline, not both")
    if isinstance(deadline, datetime):
        if deadline.tzinfo is None:
            raise ValueError("the deadline has no time zone: use datetime.now(timezone.utc) and the like")
        deadline = round(deadline.timestamp() * 1000)
    if deadline is not None:
        return {"deadline": deadline}
    return None if priority is None else {"priority": priority}


def _milliseconds(seconds: float, what: str) -> int:
    if not 0 < seconds < 1e9:
        raise ValueError(f"a {what} of {seconds} s makes no sense")
    return max(1, round(seconds * 1000))


def _program() -> str:
    """The owner of requests that name none, such as ``backup[4711]``. Nodes accept it for every program."""
    name = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    # Letters, marks, numbers, punctuation, symbols and blanks; nothing that is not seen.
    seen = "".join(c if unicodedata.category(c)[0] in "LNPS" or c == " " else "?" for c in name)
    process = f"[{os.getpid()}]"
    return seen.encode()[: LONGEST_OWNER - len(process)].decode(errors="ignore") + process


_default: Client | None = None
_default_mutex = threading.Lock()


def default_client() -> Client:
    """The client of functions and objects that name none: of the node that the environment names at first use."""
    global _default
    with _default_mutex:
        if _default is None:
            _default = Client()
        return _default


os.register_at_fork(after_in_child=_default_mutex._at_fork_reinit)  # type: ignore[attr-defined]
