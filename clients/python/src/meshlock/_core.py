"""One connection to a node for all requests of a client, and the thread that reads, renews and reconnects.

    caller ---- ask, release ----> Core ====== lines of JSON ======> node
    caller <--- listener ---------- thread "meshlock" <============= node

All that is decided here is decided under one mutex. Listeners are called without it.

- A lease counts from *before* the line was sent that the node answered. So it is over here before it is over there.
- A grant that is pushed after a long wait has no such moment. It is renewed first, and told to the caller after that.
- Unix: a connection that closes has released everything at the node, so every grant is lost at once. Requests that
  wait are asked anew.
- TCP: the client comes back with the same ids, and takes its requests over. What it holds is renewed first: a node
  that was started anew does not know it, and it is lost.
- After `fork` the child has a core without connection or requests. The descriptors of the parent are closed there:
  as long as one is open, the death of the parent would not close the connection.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import select
import socket as sockets
import threading
from collections import deque
from collections.abc import Iterable
from secrets import token_hex
from time import monotonic
from typing import Any, Callable

from . import _processes
from ._address import Address
from ._ask import HELD, LOST, OVER, RELEASING, WAITING, Ask, Done, Info, Line
from ._http import upgrade
from .errors import ClientClosed, Garbled, LockLost, MeshlockError, NodeSilent, NodeTooOld, NoNode, Refused, RequestOver
from .parts import HeldPart, held_parts

DIAL_PATIENCE = 10.0
"""How long a node may take to accept a connection."""
RETRY = (0.0, 0.1, 0.2, 0.5, 1.0)
"""Pauses between attempts to reconnect; the last one repeats."""
LONGEST_LINE = 16 * 1024 * 1024
"""Of a node."""
LONGEST_REQUEST = 60 * 1024
"""A line of a client has at most 64 KiB."""
QUIET = 5.0
"""TCP only: after so long without a word the connection is tried with a ping, and given up after as long again."""


class Core:
    """See the module."""

    def __init__(self, address: Address, token: str | None) -> None:
        self.address = address
        self.token = token
        self.hello: Info = {}
        self._is_tcp = address.socket is None
        self._dropped: deque[Ask] = deque()  # of finalizers, which may run at any moment and must not take the mutex
        self._reset()
        _processes.register(self)

    def _reset(self) -> None:
        self._mutex = threading.Lock()
        self._closed = False
        self._abandoned = False
        self._asks: dict[str, Ask] = {}
        self._lines: dict[int, Line] = {}
        self._numbers = itertools.count(1)
        self._timers: list[tuple[float, int, Ask]] = []
        self._link: sockets.socket | None = None
        self._read = bytearray()
        self._unsent = bytearray()
        self._broken: BaseException | None = None
        self._dialing = 0
        self._dialed: tuple[int, Any] | None = None
        self._half_open: sockets.socket | None = None
        self._attempts = 0
        self._dial_at = 0.0
        self._down_since = 0.0
        self._heard_at = 0.0
        self._pinged = False
        self._thread: threading.Thread | None = None
        self._waker: tuple[sockets.socket, sockets.socket] | None = None

    # What callers do.

    def submit(self, ask: Ask) -> None:
        """Asks."""
        if len(json.dumps(ask.body)) > LONGEST_REQUEST:
            raise Refused("too-large", "the request is too long for a line of the stream: shorten its texts or list")
        with self._mutex:
            if self._closed:
                raise ClientClosed
            ask.number = next(self._numbers)
            self._asks[ask.id] = ask
            if self._link is not None:
                self._send_acquire(ask)
            elif not self._dialing and not self._dial_at:
                self._dial()

    def cancel(self, ask: Ask) -> bool:
        """Takes a request back that waits; `False` if it is settled already."""
        with self._mutex:
            if ask.state != WAITING:
                return False
            self._forget(ask)
            if self._link is not None and ask.sent:
                self._send("release", ask, id=ask.id)
            return True

    def release(self, ask: Ask, done: Done) -> None:
        """Gives back. `done` gets the answer of the node, or nothing if there is none to be had."""
        with self._mutex:
            state, ask.state = ask.state, RELEASING
            if state == HELD and ask.expires <= monotonic():
                ask.error = LockLost(ask.resource, "the lease ended before it could be renewed")
            if state in (RELEASING, OVER):
                ask.state = state
            elif self._link is not None:
                self._send("release", ask, done, id=ask.id)
                return
            elif state != HELD or not self._is_tcp or self._closed:
                self._forget(ask)  # otherwise it is said when the connection is back
        done({})

    def change(self, ask: Ask, urgency: Info, done: Done) -> None:
        """Changes how urgent a waiting request is."""
        with self._mutex:
            if ask.state == WAITING and self._link is None:
                # The body stays as it was asked first; the new urgency is said again when the connection is back.
                raise NoNode(str(self.address), "the connection is being made; change it again in a moment")
            if ask.state == WAITING:
                self._send("change", ask, done, id=ask.id, urgency=urgency)
                return
        done({})

    def drop(self, ask: Ask) -> None:
        """Gives back what no one refers to any more. Safe at any moment, also inside of a garbage collection."""
        if not self._closed:
            self._dropped.append(ask)
            self._wake()

    def abandon(self) -> None:
        """Closes it soon. Safe at any moment, also inside of a garbage collection."""
        self._abandoned = True
        self._wake()

    def close(self) -> None:
        """Ends the connection. At a node behind a Unix socket this gives everything back."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            if self._link is not None and self._is_tcp:
                for ask in self._asks.values():
                    self._send("release", ask, id=ask.id)
                self._flush_at_the_end()
            later = self._end_all(ClientClosed())
            later += self._hang_up()
        self._wake()
        _run_all(later)

    def _flush_at_the_end(self) -> None:
        if self._link is not None and self._unsent:
            with contextlib.suppress(OSError):
                self._link.settimeout(1.0)
                self._link.sendall(self._unsent)

    # What is sent.

    def _send(self, verb: str, ask: Ask | None, done: Done | None = None, **more: Any) -> None:
        number = next(self._numbers)
        self._lines[number] = Line(verb, ask, done)
        line = json.dumps({"n": number, "do": verb, **more}, separators=(",", ":")).encode() + b"\n"
        if not self._unsent and self._link is not None and self._broken is None:
            try:
                line = line[self._link.send(line) :]
            except BlockingIOError:
                pass
            except OSError as error:
                self._broken = error
                self._wake()
                return
        if line:
            self._unsent += line
            self._wake()

    def _send_acquire(self, ask: Ask) -> None:
        ask.sent = True
        self._send("acquire", ask, request={"id": ask.id, **ask.body})

    # Connecting.

    def _dial(self) -> None:
        self._ensure_thread()
        self._dialing += 1
        self._dial_at = 0.0
        generation = self._dialing

        def opened(link: sockets.socket) -> None:
            self._half_open = link

        def dial() -> None:
            result: Any
            try:
                result = upgrade(self.address, self.token, DIAL_PATIENCE, opened)
            except Exception as error:
                result = error
            with self._mutex:
                self._half_open = None
                if generation == self._dialing and not self._closed:
                    self._dialed = (generation, result)
                    self._wake()
                elif isinstance(result, tuple):
                    result[0].close()

        threading.Thread(target=dial, name="meshlock-dial", daemon=True).start()

    def _ensure_thread(self) -> None:
        if self._thread is None:
            # Sockets and not a pipe: one that is closed meanwhile is an error, never the descriptor of another file.
            self._waker = sockets.socketpair()
            for end in self._waker:
                end.setblocking(False)
            self._thread = threading.Thread(target=self._run, args=(self._waker[0],), name="meshlock", daemon=True)
            self._thread.start()

    def _wake(self) -> None:
        waker = self._waker
        if waker is not None:
            with contextlib.suppress(OSError):
                waker[1].send(b"!")

    def _on_dialed(self, result: Any) -> list[Callable[[], None]]:
        self._dialing = 0
        if isinstance(result, tuple):
            self._link, rest = result
            assert self._link is not None
            self._link.setblocking(False)
            self._read = bytearray(rest)
            self._down_since = 0.0
            self._heard_at = monotonic()
            self._pinged = False
            for ask in sorted(self._asks.values(), key=lambda ask: ask.number):
                if ask.state in (RELEASING, LOST):
                    self._send("release", ask, id=ask.id)
                elif ask.state == HELD:
                    # Not taken over before the node has said that it knows it: one that was started anew would make
                    # a second request.
                    ask.is_away = True
                    ask.renewing = monotonic()
                    self._send("renew", ask, id=ask.id)
                else:
                    self._send_acquire(ask)
            return self._take_lines()
        error = result if isinstance(result, MeshlockError) else NoNode(str(self.address), result)
        is_transient = isinstance(error, NoNode) or (isinstance(error, Refused) and error.reason == "unavailable")
        later: list[Callable[[], None]] = []
        for ask in list(self._asks.values()):
            if ask.state == WAITING and not (ask.sent and is_transient and self._is_worth_waiting(ask)):
                later += self._fail(ask, error)
        self._redial()
        return later

    def _is_worth_waiting(self, ask: Ask) -> bool:
        """As long as its lease: a node that is started anew is back before that."""
        return not self._down_since or monotonic() < self._down_since + ask.lease

    def _redial(self) -> None:
        if not self._asks:
            self._attempts = 0
        elif not self._dialing:
            pause = RETRY[min(self._attempts, len(RETRY) - 1)]
            self._attempts += 1
            self._dial_at = monotonic() + pause

    def _hang_up(self) -> list[Callable[[], None]]:
        """The connection is gone."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        cause, self._broken = self._broken, None
        self._read.clear()
        self._unsent.clear()
        later: list[Callable[[], None]] = []
        lines, self._lines = self._lines, {}
        for line in lines.values():
            if line.verb == "release" and line.ask is not None and not (self._is_tcp and line.ask.state == RELEASING):
                self._forget(line.ask)
            if line.done is not None:
                later.append(_bind(line.done, {}))
        self._down_since = self._down_since or monotonic()
        for ask in list(self._asks.values()):
            ask.renewing = 0.0
            if ask.state == WAITING and isinstance(cause, (Garbled, Refused)):
                later += self._fail(ask, cause)  # they do not understand each other, and will not the next time
                continue
            if self._is_tcp or ask.state not in (HELD, WAITING):
                if ask.state == LOST or (ask.state == RELEASING and not self._is_tcp):
                    self._forget(ask)
                continue
            if ask.state == HELD:
                later += self._lose(ask, "the connection to the node closed, and with it the node let it go")
                self._forget(ask)
            else:
                self._rename(ask)
        if not self._closed:
            self._redial()
        return later

    def _rename(self, ask: Ask) -> None:
        """The node has ended the request of this id; the next one is another request."""
        self._asks.pop(ask.id, None)
        ask.id = token_hex(16)
        ask.known_at = 0.0
        self._asks[ask.id] = ask

    # What is heard.

    def _take_lines(self) -> list[Callable[[], None]]:
        later: list[Callable[[], None]] = []
        *lines, rest = bytes(self._read).split(b"\n") if b"\n" in self._read else (self._read,)
        self._read = bytearray(rest)
        for line in lines:
            try:
                said = json.loads(line)
                if not isinstance(said, dict):
                    raise ValueError("not an object")
                later += self._on_line(said)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self._broken = Garbled(str(self.address), error)
                break
        if len(self._read) > LONGEST_LINE:
            self._broken = Garbled(str(self.address), "an endless line")
        return later

    def _on_line(self, said: Info) -> list[Callable[[], None]]:
        if "hello" in said:
            self.hello = dict(said["hello"])
            return []
        line = self._lines.pop(said["n"], None) if "n" in said else None
        self._attempts = 0
        later: list[Callable[[], None]] = []
        if "problem" in said:
            problem = said["problem"]
            error = Refused(str(problem["reason"]), str(problem["message"]))
            if line is None:
                self._broken = error  # the node closes the connection after it
                return []
            later += self._on_problem(line, error)
        elif "request" in said:
            info = dict(said["request"])
            ask = line.ask if line is not None else self._asks.get(str(info["id"]))
            if ask is not None and ask.id == info["id"]:
                later += self._on_request(ask, info, line)
        if line is not None and line.done is not None:
            later.append(_bind(line.done, said))
        return later

    def _on_problem(self, line: Line, error: Refused) -> list[Callable[[], None]]:
        ask = line.ask
        if ask is None or line.verb == "change":
            return []
        if line.verb == "release":
            self._forget(ask)
            return []
        if ask.state == WAITING and "all" in ask.body and "unknown field `all`" in error.message:
            return self._fail(ask, NodeTooOld(str(self.address), "requests for several resources"))
        if ask.state == WAITING:
            return self._fail(ask, error)
        if ask.state == HELD:
            return self._lose(ask, f"the node no longer knows it: {error}")
        return []

    def _on_request(self, ask: Ask, info: Info, line: Line | None) -> list[Callable[[], None]]:
        state = str(info["state"])
        ask.info = info
        verb = line.verb if line is not None else ""
        if ask.state == WAITING:
            return self._on_waiting(ask, state, line.before if verb in ("acquire", "renew") and line else 0.0)
        if ask.state == HELD:
            if verb == "renew":
                ask.renewing = 0.0
            if state != "GRANTED":
                return self._lose(ask, f"{state}: {info.get('reason') or 'it was given back by its id'}")
            if _fences(info) != _fences(ask.granted):
                return self._lose(ask, "the node has granted it anew, with another fence")
            if line is not None and verb in ("acquire", "renew"):
                self._extend(ask, line.before)
            if ask.is_away and verb == "renew":
                ask.is_away = False
                self._send_acquire(ask)
        if verb == "release":
            self._forget(ask)
        return []

    def _on_waiting(self, ask: Ask, state: str, before: float) -> list[Callable[[], None]]:
        if before:
            ask.known_at = max(ask.known_at, before)
        if state == "QUEUED":
            return [ask.listener.news]
        if state == "GRANTED":
            ask.lease = int(ask.info["lease_ms"]) / 1000
            left = _left(ask.info)
            if monotonic() > ask.known_at + left - ask.lease * 2 / 3:
                if not ask.renewing:  # too long ago to know when the lease began
                    ask.renewing = monotonic()
                    self._send("renew", ask, id=ask.id)
                elif before:
                    ask.renewing = 0.0
                    return self._on_waiting(ask, state, before)
                return []
            if "all" in ask.body:
                held_parts(ask.body, ask.info)
            else:
                HeldPart.of(ask.info)
            ask.renewing = 0.0
            ask.granted = ask.info
            ask.state = HELD
            self._extend(ask, ask.known_at)
            return [ask.listener.settled]
        if state == "EXPIRED" and ask.info.get("expiry") != "timeout":
            # We were away for too long. The place is lost, but not the wish.
            self._rename(ask)
            ask.renewing = 0.0
            self._send_acquire(ask)
            return []
        if state == "REJECTED":
            return self._fail(ask, Refused("rejected", str(ask.info.get("reason") or "it can never be granted")))
        return self._fail(ask, RequestOver(ask.info))

    def _extend(self, ask: Ask, before: float) -> None:
        ask.lease = int(ask.info["lease_ms"]) / 1000
        ask.expires = max(ask.expires, before + _left(ask.info))
        ask.due = ask.expires - ask.lease * 2 / 3
        self._set_timer(ask, ask.due)

    # Ends.

    def _forget(self, ask: Ask) -> None:
        ask.state = OVER
        ask.timer = 0.0
        self._asks.pop(ask.id, None)

    def _fail(self, ask: Ask, error: MeshlockError) -> list[Callable[[], None]]:
        ask.error = error
        self._forget(ask)
        return [ask.listener.settled]

    def _lose(self, ask: Ask, why: str) -> list[Callable[[], None]]:
        """It stays known: when its user has stopped, the node has to be told."""
        ask.state = LOST
        ask.error = LockLost(ask.resource, why)
        return [ask.listener.lost]

    def _end_all(self, error: MeshlockError) -> list[Callable[[], None]]:
        later: list[Callable[[], None]] = []
        for ask in list(self._asks.values()):
            if ask.state == WAITING:
                later += self._fail(ask, error)
            elif ask.state == HELD:
                later += self._lose(ask, str(error))
            self._forget(ask)
        return later

    # The thread.

    def _set_timer(self, ask: Ask, when: float) -> None:
        ask.timer = when
        if len(self._timers) > 2 * len(self._asks) + 100:  # mostly of requests that are over
            self._timers = [each for each in self._timers if each[0] == each[2].timer]
            heapq.heapify(self._timers)
        heapq.heappush(self._timers, (when, next(self._numbers), ask))
        if self._timers[0][2] is ask:
            self._wake()

    def _run(self, waker: sockets.socket) -> None:
        try:
            self._serve(waker)
        except BaseException as error:
            # A mistake of ours. No caller waits for an answer that will not come.
            with self._mutex:
                self._closed = True
                later = self._end_all(MeshlockError(f"the client failed: {error!r}"))
            _run_all(later)
            raise
        with self._mutex:
            if self._waker is not None:
                for end in self._waker:
                    end.close()
                self._waker = None

    def _serve(self, waker: sockets.socket) -> None:
        poll = select.poll()
        poll.register(waker, select.POLLIN)
        watched: sockets.socket | None = None
        while True:
            with self._mutex:
                if self._closed:
                    break
                if self._link is not watched:
                    watched = self._link
                    poll = select.poll()
                    poll.register(waker, select.POLLIN)
                if watched is not None:
                    poll.register(watched, select.POLLIN | (select.POLLOUT if self._unsent else 0))
                timeout = self._until_next()
            poll.poll(timeout)
            with contextlib.suppress(BlockingIOError):
                waker.recv(65_536)
            if self._abandoned:
                self.close()
            with self._mutex:
                if self._closed:
                    break
                later = self._turn()
            _run_all(later)

    def _until_next(self) -> float | None:
        moments = [when for when in (self._dial_at, self._timers[0][0] if self._timers else 0.0) if when]
        if self._broken is not None or self._dialed is not None or self._dropped:
            return 0
        if self._is_tcp and self._link is not None and self._asks:
            moments.append(self._heard_at + QUIET * (2 if self._pinged else 1))
        if self._link is None and self._down_since:
            leases = [ask.lease for ask in self._asks.values() if ask.state == WAITING]
            moments += [self._down_since + min(leases)] if leases else []
        if not moments:
            return None
        return max(0.0, min(moments) - monotonic()) * 1000 + 1

    def _turn(self) -> list[Callable[[], None]]:
        later: list[Callable[[], None]] = []
        if self._dialed is not None:
            (_, result), self._dialed = self._dialed, None
            later += self._on_dialed(result)
        if self._link is not None and self._broken is None:
            later += self._exchange(self._link)
        while self._dropped:
            ask = self._dropped.popleft()
            if ask.state in (WAITING, HELD, LOST):
                self._release_dropped(ask)
        now = monotonic()
        later += self._fire(now)
        if self._is_tcp and self._link is not None and self._asks and self._broken is None:
            self._check_quiet(now)
        if self._broken is not None:
            later += self._hang_up()
        if self._link is None and self._down_since:
            for ask in [ask for ask in self._asks.values() if ask.state == WAITING]:
                if not self._is_worth_waiting(ask):
                    later += self._fail(ask, NoNode(str(self.address), "the connection closed and did not come back"))
        if self._dial_at and self._dial_at <= now:
            self._dial_at = 0.0
            if self._asks and not self._dialing:
                self._dial()
        return later

    def _release_dropped(self, ask: Ask) -> None:
        if self._link is not None:
            ask.state = RELEASING
            self._send("release", ask, id=ask.id)
        elif ask.state == HELD and self._is_tcp:
            ask.state = RELEASING
        else:
            self._forget(ask)

    def _exchange(self, link: sockets.socket) -> list[Callable[[], None]]:
        try:
            while self._unsent:
                del self._unsent[: link.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._broken = error  # what was said before it may still be read
        ended = False
        try:
            while True:
                read = link.recv(262_144)
                if not read:
                    ended = True
                    break
                self._heard_at = monotonic()
                self._pinged = False
                self._read += read
                if len(read) < 262_144 or len(self._read) > LONGEST_LINE:
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self._broken = error
        later = self._take_lines()
        if ended and self._broken is None:
            self._broken = NoNode(str(self.address), "it closed the connection")
        return later

    def _fire(self, now: float) -> list[Callable[[], None]]:
        later: list[Callable[[], None]] = []
        while self._timers and self._timers[0][0] <= now:
            when, _, ask = heapq.heappop(self._timers)
            if when != ask.timer:
                continue  # stale: it was renewed since
            if ask.state == RELEASING and ask.expires <= now:
                self._forget(ask)
            elif ask.state == RELEASING:
                self._set_timer(ask, ask.expires)
            elif ask.state == HELD and ask.expires <= now:
                why = "the node did not answer for the length of the lease"
                later += self._lose(ask, why if ask.renewing else "the lease ended before it could be renewed")
                if self._link is not None:
                    self._send("release", ask, id=ask.id)  # if the node still believes in it, others need not wait
            elif ask.state == HELD and self._link is not None and not ask.renewing:
                ask.renewing = now
                self._send("renew", ask, id=ask.id)
                self._set_timer(ask, ask.expires)
            elif ask.state == HELD:
                self._set_timer(ask, ask.expires)
        return later

    def _check_quiet(self, now: float) -> None:
        """A network that is cut closes no connection."""
        if now >= self._heard_at + QUIET * 2 and self._pinged:
            self._broken = NodeSilent(str(self.address), "no answer to a ping")
        elif now >= self._heard_at + QUIET and not self._pinged:
            self._pinged = True
            self._send("ping", None)

    # Processes.

    def after_fork(self) -> None:
        """In the child: the requests are the parent's. Closing a copy of a descriptor ends no connection."""
        links, waker, asks = [self._link, self._half_open], self._waker, list(self._asks.values())
        if self._dialed is not None and isinstance(self._dialed[1], tuple):
            links.append(self._dialed[1][0])
        self._dropped.clear()
        self._reset()
        for link in links:
            if link is not None:
                link.close()
        for end in waker or ():
            end.close()
        for ask in asks:
            why = "this process was forked; the lock is its parent's"
            ask.error = (
                LockLost(ask.resource, why) if ask.state != WAITING else RequestOver({**ask.info, "reason": why})
            )
            ask.state = OVER


def _left(info: Info) -> float:
    """How much of a lease was left when the node spoke, in seconds."""
    left = info.get("expires_in_ms")
    return int(info["lease_ms"] if left is None else left) / 1000


def _fences(info: Info) -> list[Any]:
    return [info.get("fence"), *(part.get("fence") for part in info.get("parts") or ())]


def _bind(done: Done, said: Info) -> Callable[[], None]:
    return lambda: done(said)


def _run_all(later: Iterable[Callable[[], None]]) -> None:
    for each in later:
        each()
