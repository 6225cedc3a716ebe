"""Several resources, all or none, with real nodes; and with one that grants something else than was asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fake_node import FakeNode, aside, granted
from nodes import PATIENCE, Mesh, Node, cut, holders, until, waiters

import meshlock
from meshlock import Part, aio

ROUNDS = 100


@pytest.fixture
def dock(name: str) -> str:
    return f"{name}-dock"


@pytest.fixture
def lifts(client: meshlock.Client, name: str) -> str:
    """Asked for after the dock, by its name."""
    client.make_resource(f"{name}-lifts", slots=["east", "west", "yard"])
    return f"{name}-lifts"


@pytest.fixture
def lone() -> Iterator[Node]:
    """A node of its own, to be stopped."""
    mesh = Mesh(["fay"])
    yield mesh.nodes[0]
    mesh.close()


def test_all_are_held_together(client: meshlock.Client, dock: str, lifts: str) -> None:
    with client.lock_all([Part(lifts, units=2), dock], owner="cart-7", priority=3, lease=20) as grant:
        assert list(grant.parts) == [lifts, dock] and grant.name == f"{lifts} + {dock}"
        part = grant.parts[lifts]
        assert (part.units, part.slots, part.slot_names) == (2, (0, 1), ("east", "west"))
        assert (grant.parts[dock].units, grant.parts[dock].slot_names) == (1, None)
        for each in (dock, lifts):
            assert [(row["id"], row["owner"]) for row in holders(client, each)] == [(grant.id, "cart-7")]
        assert 0 < grant.remaining() <= 20
        grant.check()
        client.acquire(lifts, timeout=0).release()
        with pytest.raises(meshlock.Timeout):
            client.acquire(lifts, units=2, timeout=0)
    assert holders(client, dock) == holders(client, lifts) == []
    with client.lock_all([dock, lifts]) as second:
        assert second.parts[dock].fence > grant.parts[dock].fence
        assert second.parts[lifts].fence > part.fence
    with pytest.raises(RuntimeError, match="released"):
        second.check()
    with pytest.raises(RuntimeError, match="released before"):
        second.release()


def test_parts_attend_sessions_and_read(client: meshlock.Client, name: str) -> None:
    book, track = f"{name}-book", f"{name}-track"
    wanted = [Part(book, shared=True), Part(track, session="north")]
    with client.lock_all(wanted) as one, client.lock_all(reversed(wanted), timeout=PATIENCE):
        assert one.parts[track].session == "north"
        with pytest.raises(meshlock.Timeout):
            client.acquire(book, shared=False, timeout=0)


def test_the_module_finds_the_node_of_the_environment(
    ann: Node, dock: str, lifts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESHLOCK_SOCKET", ann.socket)
    with meshlock.lock_all([dock, Part(lifts, units=3)], priority=5, timeout=PATIENCE) as grant:
        assert grant.parts[lifts].slots == (0, 1, 2)

    async def work() -> None:
        async with aio.lock_all([dock, lifts], timeout=PATIENCE) as second:
            assert second.parts[dock].fence > grant.parts[dock].fence

    asyncio.run(work())


def test_opposite_orders_do_not_deadlock(ann: Node, bob: Node, name: str) -> None:
    names = [f"{name}-{letter}" for letter in "abc"]
    inside: list[str] = []
    fences: dict[str, list[int]] = {each: [] for each in names}

    def work(client: meshlock.Client, who: str, order: list[str]) -> None:
        for _ in range(ROUNDS):
            with client.lock_all(order, timeout=PATIENCE) as grant:
                inside.append(who)
                assert inside == [who]
                for each in names:
                    fences[each].append(grant.parts[each].fence)
                inside.remove(who)

    with ann.client() as here, bob.client() as there:
        results = [aside(lambda: work(here, "a", names)), aside(lambda: work(there, "b", names[::-1]))]
        for result in results:
            result()
    for seen in fences.values():
        assert seen == sorted(set(seen)) and len(seen) == 2 * ROUNDS


def test_a_timeout_frees_everything(client: meshlock.Client, dock: str, lifts: str) -> None:
    with client.lock(lifts, units=3):
        for timeout in (0, 0.01):
            with pytest.raises(meshlock.Timeout, match=rf"others hold '{lifts}'; `meshlock status {lifts}`"):
                client.acquire_all([lifts, dock], timeout=timeout)
        client.acquire(dock, timeout=0).release()
        assert holders(client, dock) == waiters(client, lifts) == []


def test_what_waits_holds_the_first_and_gives_it_back_when_it_is_cancelled(
    client: meshlock.Client, dock: str, lifts: str
) -> None:
    with client.lock(lifts, units=3):
        request = client.request_all([lifts, dock])
        until(lambda: [row["id"] for row in holders(client, dock)] == [request.id])
        until(lambda: [part["state"] for part in request.info.get("parts", ())] == ["QUEUED", "GRANTED"])
        request.change(priority=9)
        assert request.cancel() and not request.cancel()
        until(lambda: holders(client, dock) == waiters(client, lifts) == [])
        request = client.request_all([lifts, dock])
        done: list[meshlock.RequestAll] = []
        request.when_done(done.append)
    until(lambda: done == [request])
    request.take().release()


def test_what_an_operator_takes_back_is_lost_as_a_whole(
    client: meshlock.Client, ann: Node, dock: str, lifts: str
) -> None:
    losses: list[meshlock.LockLost] = []
    grant = client.acquire_all([dock, lifts])
    grant.on_loss(losses.append)
    revoking = aside(lambda: ann.run("revoke", grant.id, "--reason", "crane broken"))
    until(lambda: losses)
    assert "crane broken" in str(losses[0]) and losses[0].resource == f"{dock} + {lifts}"
    assert grant.lost.wait(PATIENCE) and grant.loss is losses[0]
    with pytest.raises(meshlock.LockLost, match="crane broken"):
        grant.check()
    # The client has not said yet that it stopped.
    assert len(holders(client, dock)) == len(holders(client, lifts)) == 1
    with pytest.raises(meshlock.LockLost, match="crane broken"):
        grant.release()
    revoking()
    assert holders(client, dock) == holders(client, lifts) == []


def test_a_node_that_stops_takes_all_back(lone: Node, name: str) -> None:
    with lone.client() as client:
        told = threading.Event()
        with pytest.raises(meshlock.LockLost, match="shutting down"), client.lock_all(["b", "a"]) as grant:
            grant.on_loss(lambda loss: told.set())
            stopping = aside(lone.stop)
            assert told.wait(PATIENCE)
        stopping()


def test_a_connection_that_closes_loses_all(client: meshlock.Client, bob: Node, dock: str, lifts: str) -> None:
    with pytest.raises(meshlock.LockLost), client.lock_all([dock, lifts]) as grant:
        cut(client)
        assert grant.lost.wait(PATIENCE)
    with bob.client() as other, other.lock_all([lifts, dock], timeout=PATIENCE):
        pass


def test_over_tcp_a_broken_connection_loses_nothing(ann: Node, dock: str, lifts: str) -> None:
    wanted: list[str | Part] = [Part(lifts, units=3), dock]
    with meshlock.Client(url=ann.url, token_file=ann.token_file) as client, client.lock_all(wanted) as grant:
        waiting = client.request_all(wanted)
        until(lambda: waiting.info)
        link, identity, said = client._core._link, waiting.id, waiting.info
        cut(client)
        until(lambda: client._core._link not in (None, link), "another connection")
        until(lambda: waiting.info is not said, "the answer to the takeover")
        grant.check()
        assert [row["id"] for row in holders(client, dock)] == [grant.id]
        grant.release()
        with waiting.result(PATIENCE) as second:
            assert second.id == identity and second.parts[dock].fence > grant.parts[dock].fence


def test_over_tcp_a_node_that_was_killed_and_started_does_not_grant_anew() -> None:
    mesh = Mesh(["gus"], tcp=True)
    try:
        node = mesh.nodes[0]
        with meshlock.Client(url=node.url, token_file=node.token_file) as client, node.client() as other:
            grant = client.acquire_all(["b", "a"], lease=600)
            node.kill()
            node.start()
            assert grant.lost.wait(PATIENCE) and "no longer knows it" in str(grant.loss)
            ids = [row["id"] for each in "ab" for row in holders(other, each) + waiters(other, each)]
            assert grant.id not in ids
            with pytest.raises(meshlock.LockLost):
                grant.release()
    finally:
        mesh.close()


def test_there_are_at_most_16(client: meshlock.Client, name: str) -> None:
    names = [f"{name}-{number}" for number in range(17)]
    with pytest.raises(meshlock.Refused, match="17 resources at once: at most 16 can be asked for together") as caught:
        client.acquire_all(names)
    assert caught.value.reason == "bad-request"
    with client.lock_all(names[:16], timeout=PATIENCE) as grant:
        assert list(grant.parts) == names[:16]
    with pytest.raises(meshlock.Refused, match="shorten its texts or list"):
        client.acquire_all([f"{name}-{number}" for number in range(100_000)])
    with pytest.raises(meshlock.Refused, match="named twice"):
        client.acquire_all([names[0], Part(names[0])])


def test_what_can_never_be_granted_is_refused_before_anything_is_held(
    client: meshlock.Client, dock: str, lifts: str
) -> None:
    with client.lock(dock), pytest.raises(meshlock.Refused, match="3"):
        client.acquire_all([dock, Part(lifts, units=4)])
    assert waiters(client, dock) == []


def test_lists_that_make_no_sense_are_refused_here() -> None:
    client = meshlock.Client(socket="/nowhere")
    with pytest.raises(TypeError, match=r"such as \['dock-3'\]"):
        client.acquire_all("dock-3")
    with pytest.raises(TypeError, match="lock\\(\\) is for one"):
        client.acquire_all(Part("dock-3"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        client.acquire_all([])
    with pytest.raises(ValueError, match="at least 1 unit"):
        Part("lifts", units=0)
    with pytest.raises(ValueError, match="not both"):
        Part("lifts", session="north", shared=True)


@pytest.mark.parametrize(
    "parts",
    [
        None,
        [],
        [{"resource": "a", "fence": 1}],
        [{"resource": "a", "fence": 1}, {"resource": "b"}],
        [{"resource": "a", "fence": 1}, {"resource": "c", "fence": 2}],
        [{"resource": "a", "fence": 1}, {"resource": "b", "fence": 2}, {"resource": "b", "fence": 3}],
    ],
)
def test_a_grant_of_something_else_is_none(parts: Any) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request_all(["b", "a"])
        connection = node.accepts().upgrades()
        said = connection.hears()
        assert said["request"]["all"] == [{"resource": "b"}, {"resource": "a"}] and "resource" not in said["request"]
        connection.says(granted(said, resource="b + a", parts=parts))
        with pytest.raises(meshlock.Garbled):
            request.result(PATIENCE)


def test_a_node_that_knows_no_parts_is_too_old() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request_all(["b", "a"])
        connection = node.accepts().upgrades()
        said = connection.hears()
        message = "the line is not what belongs here: unknown field `all`, expected one of `id`, `resource`"
        connection.says({"n": said["n"], "problem": {"reason": "bad-request", "message": message}})
        with pytest.raises(meshlock.NodeTooOld, match=r"several resources.*upgrade"):
            request.result(PATIENCE)


def test_tasks_hold_all_and_lose_all(ann: Node, client: meshlock.Client, dock: str, lifts: str) -> None:
    async def work() -> None:
        async with aio.Client(socket=ann.socket, try_patience=PATIENCE) as own:
            async with own.lock_all([Part(lifts, units=3), dock], owner="cart-7") as grant:
                assert grant.parts[lifts].slot_names == ("east", "west", "yard")
                assert holders(client, dock)[0]["id"] == holders(client, lifts)[0]["id"] == grant.id
                with pytest.raises(meshlock.Timeout):
                    await own.acquire_all([dock, lifts], timeout=0)
                assert await grant.run(asyncio.sleep(0, 7)) == 7
            assert holders(client, dock) == holders(client, lifts) == []
            second = await own.acquire_all([dock, lifts])
            told = asyncio.Event()
            second.on_loss(lambda loss: told.set())
            asyncio.get_running_loop().call_soon(cut, own.sync)
            with pytest.raises(meshlock.LockLost):
                await second.run(asyncio.sleep(10 * PATIENCE))
            await told.wait()
            with pytest.raises(meshlock.LockLost):
                await second.release()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_tasks_in_opposite_orders_do_not_deadlock(client: meshlock.Client, name: str) -> None:
    names = [f"{name}-{letter}" for letter in "ab"]
    inside = [0, 0]

    async def work() -> None:
        own = aio.Client(shared_with=client)

        async def one(order: list[str]) -> None:
            for _ in range(ROUNDS):
                async with own.lock_all(order):
                    inside[0] += 1
                    assert inside[0] == 1
                    await asyncio.sleep(0)
                    inside[0] -= 1
                    inside[1] += 1

        await asyncio.gather(one(names), one(names[::-1]))

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    assert inside == [0, 2 * ROUNDS]


def test_a_cancelled_task_frees_everything(client: meshlock.Client, dock: str, lifts: str) -> None:
    async def work() -> None:
        own = aio.Client(shared_with=client)
        loop = asyncio.get_running_loop()
        async with own.lock(lifts, units=3):
            task = asyncio.ensure_future(own.acquire_all([lifts, dock]))
            await loop.run_in_executor(None, lambda: until(lambda: holders(client, dock)))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await loop.run_in_executor(None, lambda: until(lambda: not holders(client, dock)))

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_smaller_requests_pass_with_backfill(client: meshlock.Client, name: str) -> None:
    made = client.make_resource(name, capacity=3, policy="backfill")
    assert made["definition"]["policy"] == "backfill"
    with client.lock(name, units=2):
        large = client.request(name, units=3)
        until(lambda: waiters(client, name))
        client.acquire(name, timeout=PATIENCE).release()
        assert not large.done()
    large.result(PATIENCE).release()
    with pytest.raises(meshlock.Refused, match="`strict` or `backfill`"):
        client.make_resource(f"{name}-2", capacity=3, policy="none")
