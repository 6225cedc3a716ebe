"""Clients of real nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from fake_node import aside
from nodes import PATIENCE, Mesh, Node, cut, holders, until, waiters

import meshlock


def test_a_lock_is_held_for_a_with(client: meshlock.Client, ann: Node, name: str) -> None:
    with client.lock(name, owner="cart-7") as first:
        assert [row["owner"] for row in holders(client, name)] == ["cart-7"]
        first.check()
        assert first.remaining() > 0 and first.name == name
    assert holders(client, name) == []
    with client.lock(name) as second:
        assert second.fence > first.fence
    with pytest.raises(RuntimeError, match="released"):
        second.check()


def test_the_module_finds_the_node_of_the_environment(ann: Node, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHLOCK_SOCKET", ann.socket)
    with meshlock.lock(name) as grant:
        assert grant.fence >= 1
        assert meshlock.status(name, 0)["resources"][0]["holders"][0]["id"] == grant.id
    assert meshlock.make_resource(f"{name}-2", capacity=3)["definition"]["kind"] == "semaphore"
    assert f"{name}-2" in [resource["name"] for resource in meshlock.resources()]
    calls = []

    @meshlock.lock(name)
    def job() -> None:
        calls.append(len(meshlock.status(name, 0)["resources"][0]["holders"]))

    job()
    job()
    assert calls == [1, 1]


def test_a_try_does_not_wait_and_a_timeout_is_a_timeout_error(client: meshlock.Client, name: str) -> None:
    with client.lock(name):
        with pytest.raises(TimeoutError, match="others hold it"):
            client.acquire(name, timeout=0)
        with pytest.raises(meshlock.Timeout):
            client.acquire(name, timeout=0.01)
        until(lambda: waiters(client, name) == [])
    client.acquire(name, timeout=0).release()


def test_two_clients_at_two_nodes_exclude_each_other(ann: Node, bob: Node, name: str) -> None:
    with ann.client() as here, bob.client() as there:
        inside: list[str] = []
        fences: list[int] = []

        def work(client: meshlock.Client, who: str) -> None:
            for _ in range(20):
                with client.lock(name) as grant:
                    inside.append(who)
                    assert inside == [who]
                    fences.append(grant.fence)
                    inside.remove(who)

        results = [aside(lambda c=c, w=w: work(c, w)) for c, w in ((here, "a"), (there, "b"), (here, "c"))]
        for result in results:
            result()
        assert fences == sorted(set(fences)) and len(fences) == 60


def test_the_most_urgent_is_served_first(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, aging=0)
    served: list[int] = []
    with client.lock(name):
        results = []
        for number, priority in enumerate([1, 9, 5]):

            def wait(priority: int = priority) -> None:
                with client.lock(name, priority=priority):
                    served.append(priority)

            results.append(aside(wait))
            until(lambda number=number: len(waiters(client, name)) == number + 1)
    for result in results:
        result()
    assert served == [9, 5, 1]


def test_a_waiting_request_can_be_made_more_urgent(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, aging=0)
    with client.lock(name):
        slow, fast = client.request(name, priority=5), client.request(name, priority=1)
        fast.change(priority=9)
    fast.result(PATIENCE).release()
    slow.result(PATIENCE).release()
    assert fast.info["urgency"] == {"priority": 9}


def test_a_deadline_is_a_time(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, by_deadline=True)
    now = datetime.now(timezone.utc)
    with client.lock(name, deadline=now):
        late, early = (
            client.request(name, deadline=now + timedelta(hours=2)),
            client.request(name, deadline=now + timedelta(hours=1)),
        )
    first = early.result(PATIENCE)
    assert not late.done()
    first.release()
    late.result(PATIENCE).release()
    with pytest.raises(ValueError, match="time zone"):
        client.acquire(name, deadline=datetime(2026, 1, 1))


def test_units_are_granted_all_at_once(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, capacity=3)
    with client.lock(name, units=2) as two:
        assert (two.units, two.slots, two.slot_names) == (2, (0, 1), None)
        with pytest.raises(meshlock.Timeout):
            client.acquire(name, units=2, timeout=0)
        client.acquire(name, units=1, timeout=0).release()
    with pytest.raises(meshlock.Refused):
        client.acquire(name, units=4)
    client.set_capacity(name, 5)
    client.acquire(name, units=4).release()


def test_units_have_the_names_that_the_resource_gives_them(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, slots=["gpu-a", "gpu-b"])
    with client.lock(name) as one, client.lock(name) as other:
        assert (one.slots, one.slot_names) == ((0,), ("gpu-a",))
        assert (other.slots, other.slot_names) == ((1,), ("gpu-b",))


def test_a_refusal_tells_why(client: meshlock.Client) -> None:
    with pytest.raises(meshlock.Refused) as caught:
        client.acquire("no/such name")
    assert caught.value.reason == "bad-request" and "name" in str(caught.value)
    with pytest.raises(meshlock.Refused):
        client.make_resource("mutex-with-three", kind="mutex", capacity=3)
    with pytest.raises(meshlock.Refused):
        client.set_capacity("never-made", 3)


HOLD = """
import signal, sys, time, meshlock
signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # an end in order
client = meshlock.Client(**{sys.argv[1]: sys.argv[2]}, token_file=sys.argv[4] if len(sys.argv) > 4 else None)
grant = client.acquire(sys.argv[3])
queued = client.request(sys.argv[3])
while not queued.info: time.sleep(0.01)
print("holds", flush=True)
time.sleep(1000)
"""


def holder(ann: Node, name: str, *words: str) -> subprocess.Popen[str]:
    """A process that holds a lock, and waits for it a second time."""
    source = str(Path(meshlock.__file__).parents[1])
    words = words or ("socket", ann.socket, name)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout is not None and process.stdout.readline() == "holds\n"
    return process


def test_a_holder_that_is_killed_frees_the_lock_at_once(client: meshlock.Client, ann: Node, name: str) -> None:
    process = holder(ann, name)
    with process:
        request = client.request(name, lease=3600)
        until(lambda: request.info)
        assert len(waiters(client, name)) == 2
        process.kill()
        # The lease of the dead is 30 s, and more than half of that is left.
        request.result(PATIENCE / 4).release()
    until(lambda: waiters(client, name) == [])


def test_a_program_that_ends_over_tcp_frees_the_lock(client: meshlock.Client, ann: Node, name: str) -> None:
    process = holder(ann, name, "url", ann.url, name, str(ann.token_file))
    with process:
        request = client.request(name)
        until(lambda: request.info)
        process.terminate()
        request.result(PATIENCE / 4).release()


def test_a_client_over_tcp_needs_the_token(ann: Node, name: str) -> None:
    with pytest.raises(meshlock.Refused, match="MESHLOCK_TOKEN_FILE"):
        meshlock.Client(url=ann.url).acquire(name)
    with meshlock.Client(url=ann.url, token_file=ann.token_file) as client, client.lock(name) as grant:
        assert holders(client, name)[0]["id"] == grant.id


def test_over_tcp_a_broken_connection_loses_nothing(ann: Node, name: str) -> None:
    with meshlock.Client(url=ann.url, token_file=ann.token_file) as client, ann.client() as other:
        with client.lock(name) as grant:
            waiting = client.request(name)
            until(lambda: waiting.info)
            link = client._core._link
            cut(client)
            until(lambda: client._core._link not in (None, link), "another connection")
            # The answer to the takeover renews it.
            until(lambda: other.status(name, 0)["resources"][0]["holders"][0]["id"] == grant.id)
            grant.check()
            identity = waiting.id
        assert waiting.result(PATIENCE).id == identity


def test_what_is_revoked_is_lost_and_told(name: str) -> None:
    mesh = Mesh(["cy"])
    try:
        node = mesh.nodes[0]
        with node.client() as client:
            told = threading.Event()
            grant = client.acquire(name)
            grant.on_loss(lambda loss: told.set())
            waiting = client.request(name)
            stopping = aside(node.stop)
            assert told.wait(PATIENCE)
            assert "shutting down" in str(grant.loss)
            with pytest.raises(meshlock.LockLost):
                grant.check()
            with pytest.raises(meshlock.LockLost, match="shutting down"):
                grant.release()
            stopping()
            with pytest.raises(meshlock.MeshlockError):
                waiting.result(PATIENCE)
    finally:
        mesh.close()


def test_a_request_outlives_its_node(name: str) -> None:
    mesh = Mesh(["dan", "eli"])
    try:
        dan, eli = mesh.nodes
        with dan.client() as here, eli.client() as there:
            with here.lock(name) as first:
                waiting = there.request(name)
                until(lambda: waiting.info)
                before = waiting.id
                eli.kill()
                eli.start()
                until(lambda: waiting.id != before and waiting.info.get("id") == waiting.id, "the second request")
            second = waiting.result(PATIENCE)
            assert second.fence > first.fence
            second.release()
    finally:
        mesh.close()


def test_a_thousand_threads_share_one_connection(client: meshlock.Client, name: str) -> None:
    count = [0]
    threading.stack_size(256 * 1024)
    try:

        def work() -> None:
            with client.lock(name):
                count[0] += 1

        results = [aside(work) for _ in range(1000)]
    finally:
        threading.stack_size(0)
    for result in results:
        result()
    assert count == [1000]
    assert client._core._asks == {} and client._core._lines == {}


def test_children_of_multiprocessing_exclude_each_other(client: meshlock.Client, name: str, tmp_path: Path) -> None:
    """They are forked while the parent has a connection with a lock and a queue."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    children = []
    with client.lock(f"{name}-of-the-parent"):
        for _ in range(3):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for _ in range(10):
                        with client.lock(name):
                            counter.write_text(str(int(counter.read_text()) + 1))
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0, 0] and counter.read_text() == "30"


def test_an_interrupted_wait_leaves_the_queue(client: meshlock.Client, name: str) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job in the background
    with client.lock(name):
        timer = aside(lambda: until(lambda: waiters(client, name)) and os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            client.acquire(name)
        timer()
        signal.signal(signal.SIGINT, before)
        until(lambda: waiters(client, name) == [])
