"""Zones, chargers and lifts for a robot or a fleet: ask, hold, release, and be told when one is lost.

Every call returns at once; what happens is told by callbacks, on threads of the client. This is what a behaviour tree,
a ROS 2 node (`rmf_mutex_groups.py`) or a bridge (`vda5050_zones.py`) needs.

    keeper = ZoneKeeper(meshlock.Client(), on_granted=enter, on_lost=stop)
    keeper.request("aisle-4", priority=7)       # enter("aisle-4", grant) is called
    keeper.release("aisle-4")                   # when it has been left, or when stop() has stopped
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable
from typing import Any, Callable

import meshlock

OnGranted = Callable[[Any, meshlock.Grant], object]
OnEnd = Callable[[Any, meshlock.MeshlockError], object]


def _ignore(*arguments: object) -> None:
    pass


class ZoneKeeper:
    """What a robot, or a fleet, asks for and holds. A `key` names a wish: by default it is the zone."""

    def __init__(
        self,
        client: meshlock.Client,
        on_granted: OnGranted = _ignore,
        on_lost: OnEnd = _ignore,
        on_refused: OnEnd = _ignore,
    ) -> None:
        self._client = client
        self._on_granted = on_granted
        self._on_lost = on_lost
        self._on_refused = on_refused
        self._mutex = threading.Lock()
        self._requests: dict[Hashable, meshlock.Request] = {}
        self._grants: dict[Hashable, meshlock.Grant] = {}

    def request(self, zone: str, key: Hashable | None = None, **options: Any) -> None:
        """Asks; `options` are those of `Client.acquire`, without a timeout. Asking twice is asking once."""
        key = zone if key is None else key
        with self._mutex:
            if key in self._requests or key in self._grants:
                return
            request = self._requests[key] = self._client.request(zone, **options)
        request.when_done(lambda request: self._done(key, request))

    def change(self, key: Hashable, priority: int) -> None:
        """Makes a wish that still waits more or less urgent."""
        with self._mutex:
            request = self._requests.get(key)
        if request is not None:
            request.change(priority=priority)

    def release(self, key: Hashable) -> None:
        """Gives back, or no longer waits. Also after a loss: the node may wait for the word that the robot stopped."""
        with self._mutex:
            request, grant = self._requests.pop(key, None), self._grants.pop(key, None)
        if request is not None and not request.cancel():
            with contextlib.suppress(meshlock.MeshlockError, RuntimeError):
                grant = request.take()
        if grant is not None:
            with contextlib.suppress(meshlock.LockLost):
                grant.release()

    def holds(self, key: Hashable) -> bool:
        """Whether it is held, by the clock of this machine."""
        grant = self._grants.get(key)
        return grant is not None and not grant.lost.is_set()

    def waits(self, key: Hashable) -> bool:
        """Whether it is asked for and not granted yet."""
        return key in self._requests

    def wishes(self) -> list[Hashable]:
        """All that is asked for, held, or lost and not released."""
        with self._mutex:
            return [*self._requests, *self._grants]

    def close(self) -> None:
        """Gives everything back."""
        for key in self.wishes():
            self.release(key)

    def _done(self, key: Hashable, request: meshlock.Request) -> None:
        with self._mutex:
            if self._requests.get(key) is not request:
                return  # released meanwhile
            del self._requests[key]
            try:
                grant = self._grants[key] = request.take()
            except meshlock.MeshlockError as error:
                refusal: meshlock.MeshlockError | None = error
            else:
                refusal = None
        if refusal is not None:
            self._on_refused(key, refusal)
            return
        self._on_granted(key, grant)
        grant.on_loss(lambda loss: self._on_lost(key, loss))
