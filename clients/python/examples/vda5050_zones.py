"""A bridge from VDA 5050 to a mesh: vehicles ask for RELEASE zones by MQTT, and the mesh decides.

    pip install paho-mqtt
    python vda5050_zones.py --broker 127.0.0.1:1883 --url http://127.0.0.1:7480 --token-file api-token

The bridge is the part of *fleet control* that answers zone requests. Topics and fields are those of VDA 5050 version 3:

    vehicle -> .../state        zoneRequests: [{requestId, requestType: ACCESS, zoneId, zoneSetId, requestStatus}]
    vehicle <- .../responses    responses: [{requestId, grantType: QUEUED | GRANTED | REVOKED | REJECTED, leaseExpiry}]
    vehicle -> .../connection   ONLINE | OFFLINE | HIBERNATING | CONNECTION_BROKEN (its last will)

What the standard leaves open, and is decided here:

- A zone is the resource ``zoneSetId:zoneId`` of the mesh. The fence is told in ``responses[].meshlock.fence``.
- A vehicle that is out of touch may still be in its zone. So its last will frees nothing by itself: the bridge stops to
  extend ``leaseExpiry``, and gives the zone back when the last one it told is over.
- Every ``leaseExpiry`` lies within the lease at the node. So the bridge needs TCP, where a node keeps a grant until its
  lease ends: on a Unix socket the death of the bridge would free zones that vehicles still use.
- Clocks: ``leaseExpiry`` is a time of day, so vehicles and bridge have to agree on it to within ``margin``.
"""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from zone_keeper import ZoneKeeper

import meshlock

VERSION = "3.0.0"
REACHABLE = ("ONLINE", "HIBERNATING")

Vehicle = tuple[str, str]
"""Manufacturer and serial number."""
Key = tuple[Vehicle, str]
"""A vehicle and its requestId."""


@dataclass
class Lease:
    """What a vehicle was told."""

    grant: meshlock.Grant
    expiry: datetime


def now() -> datetime:
    return datetime.now(timezone.utc)


def timestamp(moment: datetime) -> str:
    """As the standard writes it: milliseconds, UTC, Z."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Bridge:
    """See the module. `lease` is what a vehicle is told, in seconds; it is extended every third of it."""

    def __init__(
        self,
        client: meshlock.Client,
        broker: tuple[str, int],
        interface: str = "vda5050",
        lease: float = 10.0,
        margin: float = 0.5,
        priority: Callable[[Mapping[str, Any]], int] = lambda state: 0,
    ) -> None:
        if not client.is_remote:
            raise ValueError("give the client a url: on a Unix socket the death of the bridge would free zones in use")
        if lease <= 2 * margin:
            raise ValueError("the lease has to be longer than twice the margin")
        self._keeper = ZoneKeeper(client, self._granted, self._lost, self._refused)
        self._interface = f"{interface}/v3"
        self._lease = lease
        self._margin = timedelta(seconds=margin)
        self._priority = priority
        self._mutex = threading.RLock()
        self._leases: dict[Key, Lease] = {}
        self._reachable: dict[Vehicle, bool] = {}
        self._headers: dict[Vehicle, int] = {}
        self._stop = threading.Event()
        self._mqtt = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._mqtt.on_connect = self._on_connect
        self._mqtt.on_message = self._on_message
        self._mqtt.reconnect_delay_set(min_delay=1, max_delay=5)
        self._mqtt.connect(*broker)
        self._mqtt.loop_start()
        self._clock = threading.Thread(target=self._run, name="vda5050-leases", daemon=True)
        self._clock.start()

    def close(self) -> None:
        """Grants nothing more, and returns when no vehicle relies on this bridge any more."""
        with self._mutex:
            self._reachable.clear()
            waiting = [key for key in self._keeper.wishes() if key not in self._leases]
        for key in waiting:
            self._keeper.release(key)
        while self._leases:
            self._stop.wait(0.05)
        self._stop.set()
        self._clock.join()
        self._mqtt.disconnect()
        self._mqtt.loop_stop()

    # What vehicles say.

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        client.subscribe([(f"{self._interface}/+/+/{topic}", 1) for topic in ("connection", "state")])

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        manufacturer, serial, topic = message.topic.split("/")[-3:]
        vehicle = (manufacturer, serial)
        try:
            said = json.loads(message.payload)
            if topic == "connection":
                with self._mutex:
                    self._reachable[vehicle] = said["connectionState"] in REACHABLE
            else:
                self._on_state(vehicle, said)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"{message.topic}: not a message of VDA 5050 ({error!r})", flush=True)

    def _on_state(self, vehicle: Vehicle, state: Mapping[str, Any]) -> None:
        listed = {str(request["requestId"]): request for request in state.get("zoneRequests") or []}
        known = {key for key in self._keeper.wishes() if isinstance(key, tuple) and key[0] == vehicle}
        for key in known:
            if key[1] not in listed:  # it has left the zone, or has stopped after a loss
                with self._mutex:
                    self._leases.pop(key, None)
                self._keeper.release(key)
        for identity, request in listed.items():
            key = (vehicle, identity)
            status = request["requestStatus"]
            if key in known:
                continue
            if status in ("REQUESTED", "QUEUED"):
                self._ask(key, request, state)
            elif status == "GRANTED":
                self._respond(key, "REVOKED")  # by a bridge before us, or its lease is over

    def _ask(self, key: Key, request: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        if request["requestType"] != "ACCESS":
            self._respond(key, "REJECTED")
            return
        zone = f"{request['zoneSetId']}:{request['zoneId']}"
        # The node keeps it longer than any vehicle was told.
        lease = 3 * self._lease
        self._keeper.request(zone, key, priority=self._priority(state), owner="/".join(key[0]), lease=lease)
        if self._keeper.waits(key):
            self._respond(key, "QUEUED")

    # What the mesh says.

    def _granted(self, key: Key, grant: meshlock.Grant) -> None:
        with self._mutex:
            self._leases[key] = Lease(grant, now())
            self._extend(key, self._leases[key])

    def _lost(self, key: Key, loss: meshlock.MeshlockError) -> None:
        """The zone stays known until the vehicle no longer lists it: the node may wait for that."""
        with self._mutex:
            self._leases.pop(key, None)
            self._respond(key, "REVOKED")

    def _refused(self, key: Key, error: meshlock.MeshlockError) -> None:
        print(f"{key}: {error}", flush=True)
        self._respond(key, "REJECTED")

    # Leases of vehicles.

    def _run(self) -> None:
        while not self._stop.wait(min(self._lease / 3, 1.0) / 4):
            over = []
            with self._mutex:
                for key, lease in list(self._leases.items()):
                    left = (lease.expiry - now()).total_seconds()
                    if self._reachable.get(key[0]) and left < self._lease * 2 / 3 and self._mqtt.is_connected():
                        self._extend(key, lease)
                    elif now() > lease.expiry + self._margin:
                        del self._leases[key]
                        over.append(key)
            for key in over:
                self._keeper.release(key)

    def _extend(self, key: Key, lease: Lease) -> None:
        safe = timedelta(seconds=min(self._lease, lease.grant.remaining())) - self._margin
        if safe > timedelta(0):
            lease.expiry = max(lease.expiry, now() + safe)
            self._respond(key, "GRANTED", lease)

    def _respond(self, key: Key, decision: str, lease: Lease | None = None) -> None:
        vehicle, identity = key
        response: dict[str, Any] = {"requestId": identity, "grantType": decision}
        if lease is not None:
            response["leaseExpiry"] = timestamp(lease.expiry)
            response["meshlock"] = {"fence": lease.grant.fence, "slots": lease.grant.slots}
        with self._mutex:
            number = self._headers[vehicle] = self._headers.get(vehicle, -1) + 1
            message = {
                "headerId": number % 2**32,
                "timestamp": timestamp(now()),
                "version": VERSION,
                "manufacturer": vehicle[0],
                "serialNumber": vehicle[1],
                "responses": [response],
            }
            self._mqtt.publish("/".join((self._interface, *vehicle, "responses")), json.dumps(message), qos=1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers zone requests of VDA 5050 vehicles from a mesh.")
    parser.add_argument("--broker", default="127.0.0.1:1883", metavar="HOST:PORT")
    parser.add_argument("--url", required=True, help="the node, over TCP: http://127.0.0.1:7480")
    parser.add_argument("--token-file", required=True, help="its token")
    parser.add_argument("--interface", default="vda5050", help="the first level of topics")
    parser.add_argument("--lease", type=float, default=10.0, help="seconds that a vehicle is told")
    options = parser.parse_args()
    host, _, port = options.broker.rpartition(":")
    client = meshlock.Client(url=options.url, token_file=options.token_file)
    bridge = Bridge(client, (host, int(port)), options.interface, options.lease)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: bridge.close())
    bridge._clock.join()


if __name__ == "__main__":
    main()
