"""Mutex groups of Open-RMF from a mesh: fleets that share lanes, doors or lifts without a common server.

Open-RMF's fleet adapters claim *mutex groups* by ``rmf_fleet_msgs/MutexGroupRequest`` on ``mutex_group_request``,
repeat the claim while they need it, and read who has which group from ``MutexGroupStates`` on ``mutex_group_states``.
This node answers instead of RMF's own supervisor: one runs beside the adapters of each fleet, and the mesh is between
them.

`MutexGroups` has no ROS in it, so that it runs and is tested anywhere. `main` is the ROS 2 node.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from typing import Any, Callable

from zone_keeper import ZoneKeeper

import meshlock

UNCLAIMED = 2**64 - 1
"""The claimant of a group that no one has, as RMF defines it."""
HEARTBEAT = 10.0
"""A claim that is not repeated for so long is released."""


@dataclass(frozen=True)
class Assignment:
    """`rmf_fleet_msgs/MutexGroupAssignment`; the time is in milliseconds."""

    group: str
    claimant: int
    claim_ms: int


Key = tuple[str, int, int]


class MutexGroups:
    """Claims of one fleet. `publish` gets all assignments that this fleet has, whenever they change."""

    def __init__(
        self,
        client: meshlock.Client,
        publish: Callable[[list[Assignment]], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._client = client
        self._publish = publish
        self._clock = clock
        self._keeper = ZoneKeeper(client, lambda *_: self._tell(), lambda *_: self._tell(), lambda *_: self._tell())
        self._mutex = threading.Lock()
        self._claims: dict[Key, float] = {}

    def lock(self, group: str, claimant: int, claim_ms: int) -> None:
        """`MODE_LOCK`, and its repetitions. The same claimant with another time is a new claim."""
        key = (group, claimant, claim_ms)
        with self._mutex:
            stale = [old for old in self._claims if old[:2] == key[:2] and old != key]
            is_new = key not in self._claims
            self._claims[key] = self._clock()
        for old in stale:
            self.release(*old)
        if is_new:
            # RMF serves earlier claims first.
            if self._client.resource(group) is None:
                self._client.make_resource(group, by_deadline=True)
            self._keeper.request(group, key, deadline=claim_ms, owner=f"claimant {claimant}")

    def release(self, group: str, claimant: int, claim_ms: int) -> None:
        """`MODE_RELEASE`."""
        with self._mutex:
            self._claims.pop((group, claimant, claim_ms), None)
        self._keeper.release((group, claimant, claim_ms))
        self._tell()

    def tick(self) -> None:
        """Releases claims that were not repeated. Call it about every second."""
        with self._mutex:
            over = [key for key, heard_at in self._claims.items() if self._clock() > heard_at + HEARTBEAT]
        for key in over:
            self.release(*key)

    def assignments(self) -> list[Assignment]:
        """Who has which group; groups that are claimed here and held by none of ours are `UNCLAIMED`."""
        with self._mutex:
            keys = list(self._claims)
        held = {key[0]: Assignment(*key) for key in keys if self._keeper.holds(key)}
        return [held.get(group) or Assignment(group, UNCLAIMED, 0) for group in sorted({key[0] for key in keys})]

    def close(self) -> None:
        self._keeper.close()

    def _tell(self) -> None:
        self._publish(self.assignments())


def main() -> None:
    """The ROS 2 node; needs `rclpy` and `rmf_fleet_msgs`."""
    try:
        import rclpy
        from rmf_fleet_msgs.msg import MutexGroupAssignment, MutexGroupRequest, MutexGroupStates
    except ImportError as error:
        raise SystemExit(f"{error}: source the setup of ROS 2, and install ros-$ROS_DISTRO-rmf-fleet-msgs") from error

    rclpy.init()
    node: Any = rclpy.create_node("meshlock_mutex_groups")
    states = node.create_publisher(MutexGroupStates, "mutex_group_states", 10)

    def publish(assignments: list[Assignment]) -> None:
        message = MutexGroupStates()
        for each in assignments:
            one = MutexGroupAssignment(group=each.group, claimant=each.claimant)
            one.claim_time.sec, one.claim_time.nanosec = each.claim_ms // 1000, each.claim_ms % 1000 * 1_000_000
            message.assignments.append(one)
        states.publish(message)

    groups = MutexGroups(meshlock.Client(), publish)

    def on_request(said: Any) -> None:
        claim = (said.group, said.claimant, said.claim_time.sec * 1000 + said.claim_time.nanosec // 1_000_000)
        if said.mode == MutexGroupRequest.MODE_LOCK:
            groups.lock(*claim)
        else:
            groups.release(*claim)

    def on_timer() -> None:
        groups.tick()
        publish(groups.assignments())

    node.create_subscription(MutexGroupRequest, "mutex_group_request", on_request, 10)
    node.create_timer(1.0, on_timer)
    try:
        rclpy.spin(node)
    finally:
        groups.close()


if __name__ == "__main__":
    main()
