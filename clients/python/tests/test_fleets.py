"""The examples for fleets: zones by callbacks, by MQTT as VDA 5050 has it, and mutex groups of Open-RMF."""

from __future__ import annotations

import json
import queue
import shutil
import socket as sockets
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
import vda5050_zones
from fake_node import aside
from nodes import PATIENCE, Mesh, Node, clean_environment, cut, free_port, holders, until, waiters
from paho.mqtt.enums import CallbackAPIVersion
from rmf_mutex_groups import HEARTBEAT, UNCLAIMED, Assignment, MutexGroups
from vda5050_zones import Bridge
from zone_keeper import ZoneKeeper

import meshlock


def test_a_keeper_tells_of_grants_and_losses(client: meshlock.Client, bob: Node, name: str) -> None:
    told: queue.Queue[tuple[str, Any]] = queue.Queue()
    keeper = ZoneKeeper(
        client,
        lambda key, grant: told.put(("granted", key)),
        lambda key, loss: told.put(("lost", key)),
        lambda key, error: told.put(("refused", key)),
    )
    with bob.client() as other:
        held = other.acquire(name)
        keeper.request(name, priority=2)
        keeper.request(name, priority=2)  # asking twice is asking once
        until(lambda: len(waiters(client, name)) == 1)
        keeper.change(name, 8)
        assert keeper.waits(name) and not keeper.holds(name)
        held.release()
        assert told.get(timeout=PATIENCE) == ("granted", name) and keeper.holds(name)
        cut(client)
        assert told.get(timeout=PATIENCE) == ("lost", name) and not keeper.holds(name)
        keeper.release(name)
        keeper.request(name)
        assert told.get(timeout=PATIENCE) == ("granted", name)
        keeper.request("not a name")
        assert told.get(timeout=PATIENCE) == ("refused", "not a name")
        keeper.close()
        assert holders(client, name) == [] and keeper.wishes() == []


class Broker:
    """mosquitto on loopback."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        self.config = home / "mosquitto.conf"
        self.config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        assert program, "mosquitto is missing: apt-get install mosquitto"
        self.process = subprocess.Popen([program, "-c", str(self.config)], stderr=subprocess.DEVNULL)
        until(self._listens, "the start of mosquitto")

    def _listens(self) -> bool:
        try:
            sockets.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    made.start()
    yield made
    made.kill()


class Vehicle:
    """A vehicle as VDA 5050 describes it, as far as zones go."""

    def __init__(self, broker: Broker, serial: str) -> None:
        self.serial = serial
        self.prefix = f"vda5050/v3/KIT/{serial}"
        self.requests: dict[str, dict[str, str]] = {}
        self.responses: queue.Queue[dict[str, Any]] = queue.Queue()
        self.expiry: dict[str, datetime] = {}
        self.mqtt = mqtt.Client(CallbackAPIVersion.VERSION2)
        self.mqtt.on_connect = self._on_connect
        self.mqtt.on_message = self._on_message
        self.mqtt.reconnect_delay_set(1, 1)
        self.mqtt.will_set(f"{self.prefix}/connection", self._message(connectionState="CONNECTION_BROKEN"), 1, True)
        self.mqtt.connect("127.0.0.1", broker.port)
        self.mqtt.loop_start()
        until(self.mqtt.is_connected)

    def _message(self, **fields: Any) -> str:
        header = {"headerId": 0, "version": "3.0.0", "manufacturer": "KIT", "serialNumber": self.serial}
        moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps({**header, "timestamp": moment, **fields})

    def _on_connect(self, client: mqtt.Client, *rest: Any) -> None:
        client.subscribe(f"{self.prefix}/responses", 1)
        client.publish(f"{self.prefix}/connection", self._message(connectionState="ONLINE"), 1, True)
        self.publish_state()

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        for response in json.loads(message.payload)["responses"]:
            if "leaseExpiry" in response:
                self.expiry[response["requestId"]] = datetime.fromisoformat(
                    response["leaseExpiry"].replace("Z", "+00:00")
                )
            self.responses.put(response)

    def publish_state(self) -> None:
        requests = list(self.requests.values())
        self.mqtt.publish(f"{self.prefix}/state", self._message(zoneRequests=requests, driving=False), 1)

    def asks(self, identity: str, zone: str, kind: str = "ACCESS") -> None:
        request = {"requestId": identity, "requestType": kind, "zoneId": zone, "zoneSetId": "hall"}
        self.requests[identity] = {**request, "requestStatus": "REQUESTED"}
        self.publish_state()

    def hears(self, identity: str, decision: str) -> dict[str, Any]:
        """Waits for the decision, and takes it over into its state, which it repeats now and then as vehicles do.

        Extensions of leases may come between, and answers about requests that it no longer has.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"no {decision} for {identity}"
            try:
                response = self.responses.get(timeout=0.5)
            except queue.Empty:
                self.publish_state()
                continue
            if response["requestId"] not in self.requests:
                continue
            assert response["requestId"] == identity, response
            self.requests[identity]["requestStatus"] = response["grantType"]
            if response["grantType"] == decision:
                self.publish_state()
                return response
            assert response["grantType"] in ("QUEUED", "GRANTED"), response

    def leaves(self, identity: str) -> None:
        del self.requests[identity]
        self.publish_state()

    def breaks(self) -> None:
        """The radio is gone: no word of farewell."""
        self.mqtt.loop_stop()
        link = self.mqtt.socket()
        assert link is not None
        link.shutdown(sockets.SHUT_RDWR)

    def close(self) -> None:
        self.mqtt.disconnect()
        self.mqtt.loop_stop()


@pytest.fixture
def far(ann: Node) -> Iterator[meshlock.Client]:
    with meshlock.Client(url=ann.url, token_file=ann.token_file) as made:
        yield made


@pytest.fixture
def bridge(far: meshlock.Client, broker: Broker) -> Iterator[Bridge]:
    made = Bridge(far, ("127.0.0.1", broker.port), lease=6)
    yield made
    made.close()


@pytest.fixture
def brief_bridge(far: meshlock.Client, broker: Broker) -> Iterator[Bridge]:
    """For tests that wait for the end of a lease."""
    made = Bridge(far, ("127.0.0.1", broker.port), lease=1.5, margin=0.1)
    yield made
    made.close()


def test_a_vehicle_asks_for_a_zone_gets_it_and_leaves_it(
    client: meshlock.Client, broker: Broker, bridge: Bridge
) -> None:
    cart = Vehicle(broker, "0001")
    cart.asks("r1", "aisle-1")
    response = cart.hears("r1", "GRANTED")
    assert response["meshlock"]["fence"] >= 1
    assert [row["owner"] for row in holders(client, "hall:aisle-1")] == ["KIT/0001"]
    first = cart.expiry["r1"]
    until(lambda: cart.expiry["r1"] > first, "an extension")
    cart.leaves("r1")
    until(lambda: holders(client, "hall:aisle-1") == [])
    cart.close()


def test_two_vehicles_take_turns(client: meshlock.Client, broker: Broker, bridge: Bridge) -> None:
    one, two = Vehicle(broker, "0001"), Vehicle(broker, "0002")
    one.asks("r1", "aisle-2")
    fence = one.hears("r1", "GRANTED")["meshlock"]["fence"]
    two.asks("r1", "aisle-2")  # request ids are unique for a vehicle only
    two.hears("r1", "QUEUED")
    one.leaves("r1")
    assert two.hears("r1", "GRANTED")["meshlock"]["fence"] > fence
    two.asks("r2", "aisle-2", "REPLANNING")
    while two.responses.get(timeout=PATIENCE) != {"requestId": "r2", "grantType": "REJECTED"}:
        pass
    two.leaves("r1")
    one.close()
    two.close()


def test_a_vehicle_loses_its_zone(broker: Broker) -> None:
    """Its node is stopped, and waits until the vehicle has left."""
    mesh = Mesh(["hal"], tcp=True)
    try:
        node = mesh.nodes[0]
        client = meshlock.Client(url=node.url, token_file=node.token_file)
        bridge = Bridge(client, ("127.0.0.1", broker.port))
        cart = Vehicle(broker, "0003")
        cart.asks("r1", "aisle-3")
        cart.hears("r1", "GRANTED")
        stopping = aside(node.stop)
        cart.hears("r1", "REVOKED")
        cart.leaves("r1")
        stopping()
        cart.close()
        bridge.close()
        client.close()
    finally:
        mesh.close()


def test_the_last_will_frees_a_zone_when_its_lease_is_over(
    client: meshlock.Client, broker: Broker, brief_bridge: Bridge
) -> None:
    one, two = Vehicle(broker, "0001"), Vehicle(broker, "0002")
    one.asks("r1", "aisle-4")
    one.hears("r1", "GRANTED")
    two.asks("r9", "aisle-4")
    two.hears("r9", "QUEUED")
    one.breaks()
    two.hears("r9", "GRANTED")
    assert datetime.now(timezone.utc) > one.expiry["r1"], "the first one could still believe in it"
    two.leaves("r9")
    two.close()


def test_zones_outlive_the_broker_no_longer_than_their_leases(
    client: meshlock.Client, broker: Broker, brief_bridge: Bridge
) -> None:
    cart = Vehicle(broker, "0001")
    cart.asks("r1", "aisle-5")
    cart.hears("r1", "GRANTED")
    broker.kill()
    until(lambda: holders(client, "hall:aisle-5") == [], "the end of the lease")
    assert datetime.now(timezone.utc) > cart.expiry["r1"]
    broker.start()
    until(cart.mqtt.is_connected)
    # It is back and lists what it believes to hold. It is told, and asks again.
    cart.publish_state()
    cart.hears("r1", "REVOKED")
    cart.leaves("r1")
    cart.asks("r2", "aisle-5")
    cart.hears("r2", "GRANTED")
    cart.leaves("r2")
    until(lambda: holders(client, "hall:aisle-5") == [])
    cart.close()


def test_a_bridge_that_is_killed_keeps_zones_until_leases_end(
    client: meshlock.Client, ann: Node, broker: Broker, far: meshlock.Client
) -> None:
    bridge = Bridge(far, ("127.0.0.1", broker.port))
    cart = Vehicle(broker, "0001")
    cart.asks("r1", "aisle-6")
    cart.hears("r1", "GRANTED")
    bridge._mqtt.loop_stop()
    far._core._closed = True  # as kill -9 leaves it: no word of farewell
    far._core._wake()
    cut(far)
    assert holders(client, "hall:aisle-6")[0]["owner"] == "KIT/0001"
    assert bridge._leases[(("KIT", "0001"), "r1")].grant.remaining() > 0
    client_of_socket = ann.client()
    with pytest.raises(ValueError, match="url"):
        Bridge(client_of_socket, ("127.0.0.1", broker.port))
    bridge._stop.set()
    cart.close()
    ann.run("release", holders(client, "hall:aisle-6")[0]["id"])


def test_the_bridge_is_a_program_that_ends_when_no_vehicle_relies_on_it(
    client: meshlock.Client, ann: Node, broker: Broker
) -> None:
    program = Path(vda5050_zones.__file__)
    words = ["--broker", f"127.0.0.1:{broker.port}", "--url", ann.url, "--token-file", str(ann.token_file)]
    source = str(Path(meshlock.__file__).parents[1])
    environment = {**clean_environment(), "PYTHONPATH": source}
    with subprocess.Popen([sys.executable, str(program), *words], env=environment) as process:
        cart = Vehicle(broker, "0001")
        cart.asks("r1", "aisle-8")
        cart.hears("r1", "GRANTED")
        process.terminate()
        assert process.poll() is None and len(holders(client, "hall:aisle-8")) == 1, "the vehicle is still inside"
        cart.leaves("r1")
        assert process.wait(PATIENCE) == 0
        assert holders(client, "hall:aisle-8") == []
        cart.close()


def test_nonsense_on_a_topic_harms_no_one(client: meshlock.Client, broker: Broker, bridge: Bridge) -> None:
    cart = Vehicle(broker, "0001")
    for topic in ("state", "connection"):
        for payload in (b"\xff", b"[]", b"{}", b'{"zoneRequests":[{}]}', b'{"zoneRequests":7}'):
            cart.mqtt.publish(f"{cart.prefix}/{topic}", payload, 1)
    cart.mqtt.publish(f"{cart.prefix}/connection", cart._message(connectionState="ONLINE"), 1, True)
    cart.asks("r0", "no zone / name")
    while cart.responses.get(timeout=PATIENCE) != {"requestId": "r0", "grantType": "REJECTED"}:
        pass
    cart.leaves("r0")
    cart.asks("r1", "aisle-7")
    cart.hears("r1", "GRANTED")
    cart.leaves("r1")
    cart.close()


def test_mutex_groups_of_two_fleets(client: meshlock.Client, bob: Node) -> None:
    now = [0.0]
    told: queue.Queue[list[Assignment]] = queue.Queue()
    with bob.client() as other:
        here = MutexGroups(client, told.put, lambda: now[0])
        there = MutexGroups(other, lambda assignments: None)
        here.lock("lift", 11, 2_000)
        assert told.get(timeout=PATIENCE) == [Assignment("lift", 11, 2_000)]
        there.lock("lift", 22, 3_000)
        until(lambda: len(other.status("lift")["resources"][0]["waiters"]) == 1)
        assert there.assignments() == [Assignment("lift", UNCLAIMED, 0)]
        here.lock("lift", 12, 1_000)  # an earlier claim goes first
        here.lock("lift", 11, 2_000)  # a heartbeat
        until(lambda: len(other.status("lift")["resources"][0]["waiters"]) == 2)
        here.release("lift", 11, 2_000)
        until(lambda: here.assignments() == [Assignment("lift", 12, 1_000)])
        now[0] += HEARTBEAT + 1  # the claimant is silent
        here.tick()
        until(lambda: there.assignments() == [Assignment("lift", 22, 3_000)])
        assert here.assignments() == []
        there.close()
        here.close()
