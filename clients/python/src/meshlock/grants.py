"""What is held, and how threads hear of it."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Callable, TypeVar

from ._ask import HELD, Ask, Info
from .errors import LockLost
from .parts import HeldPart, held_parts

if TYPE_CHECKING:
    from .client import Client

PATIENCE = 10.0
"""How long the node may take for an answer that is not a grant."""

H = TypeVar("H", bound="Holding")
OnLoss = Callable[[LockLost], object]


class Signals:
    """Tells threads what happened to a request. It knows neither request nor grant, so that these can be dropped."""

    def __init__(self) -> None:
        self.is_settled = threading.Event()
        self.has_news = threading.Event()
        self.is_lost = threading.Event()
        self._mutex = threading.Lock()
        self._on_settled: list[Callable[[], object]] = []
        self._on_lost: list[Callable[[], object]] = []

    def news(self) -> None:
        self.has_news.set()

    def settled(self) -> None:
        self.is_settled.set()
        self.has_news.set()
        self._tell(self._on_settled, self.is_settled)

    def lost(self) -> None:
        self.is_lost.set()
        self._tell(self._on_lost, self.is_lost)

    def when_settled(self, call: Callable[[], object]) -> None:
        self._add(self._on_settled, call, self.is_settled)

    def when_lost(self, call: Callable[[], object]) -> None:
        self._add(self._on_lost, call, self.is_lost)

    def _add(self, calls: list[Callable[[], object]], call: Callable[[], object], event: threading.Event) -> None:
        with self._mutex:
            calls.append(call)
        if event.is_set():
            self._tell(calls, event)

    def _tell(self, calls: list[Callable[[], object]], event: threading.Event) -> None:
        """On a thread of its own: what a callback does must not delay renewals, nor the callbacks of others."""
        with self._mutex:
            due = calls[:]
            calls.clear()
        if due:
            threading.Thread(target=_call_all, args=(due,), name="meshlock-callback", daemon=True).start()


def _call_all(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        try:
            call()
        except Exception:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def wait_for_answer(start: Callable[[Callable[[Info], None]], None], patience: float = PATIENCE) -> Info:
    """Calls with a callback, and waits until that is called with the answer; nothing if it is not."""
    answers: list[Info] = []
    answered = threading.Event()

    def done(said: Info) -> None:
        answers.append(said)
        answered.set()

    start(done)
    answered.wait(patience)
    return answers[0] if answers else {}


class Lost:
    """Like :class:`threading.Event`: set when the lock is lost."""

    def __init__(self, ask: Ask, signals: Signals) -> None:
        self._ask = ask
        self._signals = signals

    def is_set(self) -> bool:
        """By our own clock: also right at the moment when a program wakes that was stopped."""
        return loss_of(self._ask) is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is lost."""
        until = None if timeout is None else monotonic() + timeout
        while not self.is_set():
            left = None if until is None else until - monotonic()
            if (left is not None and left <= 0) or self._ask.state != HELD:
                break
            self._signals.is_lost.wait(min(self._ask.remaining() + 0.001, PATIENCE if left is None else left))
        return self.is_set()


def loss_of(ask: Ask) -> LockLost | None:
    """Why a grant is lost, as far as can be known at this moment."""
    if isinstance(ask.error, LockLost):
        return ask.error
    if ask.state == HELD and ask.remaining() <= 0:
        return LockLost(ask.resource, "the lease ended before it could be renewed")
    return None


class Holding:
    """What one and several have in common."""

    def __init__(self, client: Client, ask: Ask, signals: Signals) -> None:
        self._client = client
        self._ask = ask
        self._signals = signals
        self._released = False
        self.name = ask.resource
        """The resource; of several, their names: ``dock-3 + lifts``."""
        self.waited = int(ask.granted.get("waited_ms", 0)) / 1000
        """Seconds in the queue."""
        self.lost = Lost(ask, signals)
        """Like :class:`threading.Event`: set when it is lost."""

    def _state(self) -> str:
        return "released" if self._released else "lost" if self.lost.is_set() else "held"

    @property
    def id(self) -> str:
        """The id of its request at the node."""
        return self._ask.id

    @property
    def loss(self) -> LockLost | None:
        """Why it is lost, if it is."""
        return loss_of(self._ask)

    def remaining(self) -> float:
        """Seconds for which it is certainly held if nothing more is heard of the node. Grows with every renewal."""
        return self._ask.remaining()

    def check(self) -> None:
        """Raises :class:`LockLost` if it is lost, as far as can be known at this moment."""
        loss = self.loss
        if loss is not None:
            raise loss
        if self._released:
            raise RuntimeError(f"{self.name!r} was released")

    def on_loss(self, call: OnLoss) -> None:
        """Calls back when it is lost, on a thread of its own; at once if it is already. Not after a release."""
        ask = self._ask

        def tell() -> None:
            if isinstance(ask.error, LockLost):
                call(ask.error)

        self._signals.when_lost(tell)

    def release(self) -> None:
        """Gives it back, and waits until the node has heard it. Once: a second time is a ``RuntimeError``.

        :raises LockLost: it was lost before. The node is told all the same: it may wait for that.
        """
        self._release(True)

    def _release(self, is_wanted: bool) -> None:
        if self._released:
            if is_wanted:
                raise RuntimeError(f"{self.name!r} was released before")
            return
        self._released = True
        core = self._client._core
        patience = min(PATIENCE, max(self.remaining(), 0.1))
        said = wait_for_answer(lambda done: core.release(self._ask, done), patience)
        if is_wanted:
            loss = loss_after(self._ask, said)
            if loss is not None:
                raise loss

    def __enter__(self: H) -> H:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error of the work says more than the loss, which may be its cause.
        self._release(error is None and not self._released)

    def __del__(self) -> None:
        if not getattr(self, "_released", True):
            self._released = True
            if self._ask.state == HELD:
                warnings.warn(
                    f"{self!r} was not released before it was dropped", ResourceWarning, stacklevel=2, source=self
                )
            self._client._core.drop(self._ask)


class Grant(Holding):
    """What is held. It is renewed in the background; release it, or leave its ``with``."""

    def __init__(self, client: Client, ask: Ask, signals: Signals) -> None:
        super().__init__(client, ask, signals)
        held = HeldPart.of(ask.granted)
        self.fence = held.fence
        """Larger than that of every earlier grant of the resource: pass it to what the lock guards."""
        self.slots = held.slots
        """Which units of a semaphore, from 0; ``None`` if the node does not number them."""
        self.slot_names = held.slot_names
        """Their names, if the resource has names for them."""
        self.units = held.units
        self.session = held.session

    def __repr__(self) -> str:
        return f"<meshlock.Grant of {self.name!r}, fence {self.fence}, {self._state()}>"


class GrantAll(Holding):
    """Several resources that are held together. One lease, one release; the loss of one is the loss of all."""

    def __init__(self, client: Client, ask: Ask, signals: Signals) -> None:
        super().__init__(client, ask, signals)
        self.parts: Mapping[str, HeldPart] = held_parts(ask.body, ask.granted)
        """What is held of each, by name, in the order of asking: ``grant.parts["lifts"].fence``."""

    def __repr__(self) -> str:
        return f"<meshlock.GrantAll of {self.name!r}, {self._state()}>"


def loss_after(ask: Ask, said: Info) -> LockLost | None:
    """Whether the answer to a release, or what was known before, says that it was lost."""
    if isinstance(ask.error, LockLost):
        return ask.error
    info = said.get("request") or {}
    if info.get("state", "RELEASED") == "RELEASED":
        return None
    return LockLost(ask.resource, f"{info['state']}: {info.get('reason') or 'it was ended at its node'}")
