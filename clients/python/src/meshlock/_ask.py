"""A request and what is known of it."""

from __future__ import annotations

from secrets import token_hex
from time import monotonic
from typing import Any, Callable, Protocol

from .errors import MeshlockError

Info = dict[str, Any]
"""How a request is doing, as the node says it: ``RequestInfo`` of docs/openapi.json."""
Done = Callable[[Info], None]

DEFAULT_LEASE = 30.0

WAITING, HELD, LOST, RELEASING, OVER = "waiting", "held", "lost", "releasing", "over"


class Listener(Protocol):
    """What is told of a request. Called on the thread of the core or of the caller, without a lock held."""

    def news(self) -> None:
        """The node said where the request stands."""

    def settled(self) -> None:
        """Granted, or failed with `ask.error`."""

    def lost(self) -> None:
        """What was granted is gone: `ask.error`."""


class Ask:
    """A request, from asking to its end. Only the core changes it."""

    __slots__ = (
        "__weakref__",
        "asked_at",
        "body",
        "due",
        "error",
        "expires",
        "granted",
        "id",
        "info",
        "is_away",
        "known_at",
        "lease",
        "listener",
        "number",
        "renewing",
        "sent",
        "state",
        "timer",
    )

    def __init__(self, body: Info, listener: Listener) -> None:
        self.id = token_hex(16)
        self.body = body
        self.listener = listener
        self.state = WAITING
        self.info: Info = {}
        self.granted: Info = {}  # what the node said with the grant
        self.error: MeshlockError | None = None
        self.asked_at = monotonic()
        self.number = 0  # the order of asking
        self.sent = False  # on some connection; then it is worth to come back for it
        self.is_away = False  # held, on a connection that is gone, and not taken over yet
        self.known_at = 0.0  # a moment that is certainly before the grant
        self.lease = body.get("lease_ms", 1000 * DEFAULT_LEASE) / 1000
        self.expires = 0.0
        self.due = 0.0
        self.renewing = 0.0  # when a renewal was sent that is not answered yet
        self.timer = 0.0

    @property
    def resource(self) -> str:
        """Of several, their names as the node writes them: ``dock-3 + lifts``."""
        if "all" in self.body:
            return " + ".join(part["resource"] for part in self.body["all"])
        return str(self.body["resource"])

    def remaining(self) -> float:
        """Seconds for which it is certainly held; by our own clock, so also right after this program was stopped."""
        return max(0.0, self.expires - monotonic()) if self.state == HELD else 0.0


class Line:
    """A line that waits for its answer."""

    __slots__ = ("ask", "before", "done", "verb")

    def __init__(self, verb: str, ask: Ask | None, done: Callable[[Info], None] | None) -> None:
        self.verb = verb
        self.ask = ask
        self.done = done
        self.before = monotonic()
