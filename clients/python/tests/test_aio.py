"""The asyncio twin, with real nodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from nodes import PATIENCE, Node, cut, holders, until, waiters

import meshlock
from meshlock import aio

T = TypeVar("T")


def go(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


async def eventually(look: Any) -> None:
    await asyncio.get_running_loop().run_in_executor(None, lambda: until(look))


def shared(client: meshlock.Client) -> aio.Client:
    return aio.Client(shared_with=client)


def test_a_lock_is_held_for_an_async_with(client: meshlock.Client, ann: Node, name: str) -> None:
    async def work() -> None:
        async with aio.Client(socket=ann.socket, try_patience=PATIENCE) as own:
            async with own.lock(name, owner="cart-7") as grant:
                assert [row["owner"] for row in (await own.status(name, 0))["resources"][0]["holders"]] == ["cart-7"]
                with pytest.raises(TimeoutError):
                    await own.acquire(name, timeout=0)
                grant.check()
            second = await own.acquire(name)
            assert second.fence > grant.fence
            await second.release()
            with pytest.raises(RuntimeError):
                await second.release()

    go(work())
    assert holders(client, name) == []


def test_the_module_shares_the_connection_of_threads(ann: Node, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHLOCK_SOCKET", ann.socket)

    async def work() -> None:
        async with aio.lock(name) as grant:
            assert grant.fence >= 1

    go(work())
    with meshlock.lock(name):
        pass
    assert aio.default_client().sync is meshlock.default_client()


def test_a_cancelled_task_leaves_the_queue(client: meshlock.Client, name: str) -> None:
    async def work() -> None:
        own = shared(client)
        async with own.lock(name):
            task = asyncio.ensure_future(own.acquire(name))
            await eventually(lambda: waiters(client, name))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually(lambda: not waiters(client, name))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(own.acquire(name), 0.01)

    go(work())
    assert waiters(client, name) == holders(client, name) == []


def test_a_thousand_tasks(client: meshlock.Client, name: str) -> None:
    inside = [0, 0]

    async def work() -> None:
        own = shared(client)

        async def one() -> None:
            async with own.lock(name):
                inside[0] += 1
                assert inside[0] == 1
                await asyncio.sleep(0)
                inside[0] -= 1
                inside[1] += 1

        await asyncio.gather(*(one() for _ in range(1000)))

    go(work())
    assert inside == [0, 1000]


def test_work_is_cancelled_when_the_lock_is_lost(ann: Node, name: str) -> None:
    async def work() -> None:
        async with aio.Client(socket=ann.socket) as own:
            grant = await own.acquire(name)
            assert await grant.run(asyncio.sleep(0, 7)) == 7
            told = asyncio.Event()
            grant.on_loss(lambda loss: told.set())
            asyncio.get_running_loop().call_soon(cut, own.sync)
            with pytest.raises(meshlock.LockLost):
                await grant.run(asyncio.sleep(10 * PATIENCE))
            await told.wait()
            assert await grant.lost.wait()
            with pytest.raises(meshlock.LockLost):
                await grant.release()

    go(work())


def test_lock_and_rlock(client: meshlock.Client, name: str) -> None:
    async def work() -> None:
        own = shared(client)
        lock = aio.Lock(name, own)
        assert await lock.acquire() and lock.locked()
        assert not await lock.acquire(timeout=0)
        lock.release()
        with pytest.raises(RuntimeError):
            lock.release()
        async with lock as grant:
            assert lock.grant is grant
        recursive = aio.RLock(name, own)
        async with recursive, recursive:
            assert recursive.locked()

            async def other() -> bool:
                with pytest.raises(RuntimeError):
                    recursive.release()
                return await recursive.acquire(timeout=0)

            assert not await asyncio.ensure_future(other())
        assert not recursive.locked()
        assert await lock.acquire(timeout=0)
        lock.release()

    go(work())


def test_semaphore_readers_and_sessions(client: meshlock.Client, name: str) -> None:
    async def work() -> None:
        own = shared(client)
        semaphore = aio.BoundedSemaphore(f"{name}-s", 2, own)
        async with semaphore, semaphore:
            assert len(semaphore.grants) == 2
            assert not await semaphore.acquire(timeout=0)
        with pytest.raises(ValueError):
            semaphore.release()
        book = aio.ReadersWriterLock(f"{name}-b", own)
        async with book.read(), book.read():
            with pytest.raises(meshlock.Timeout):
                async with book.write(timeout=0):
                    pass
        async with book.write():
            pass
        async with aio.Session(f"{name}-t", "north", own), aio.Session(f"{name}-t", "north", own):
            with pytest.raises(meshlock.Timeout):
                await own.acquire(f"{name}-t", session="south", timeout=0)

    go(work())


def test_condition(client: meshlock.Client, name: str) -> None:
    async def work() -> None:
        own = shared(client)
        condition = aio.Condition(aio.Lock(name, own))
        with pytest.raises(RuntimeError):
            await condition.wait()
        with pytest.raises(RuntimeError):
            condition.notify()
        box: list[int] = []

        async def consume() -> int:
            async with condition:
                await condition.wait_for(lambda: box)
                return box.pop()

        tasks = [asyncio.ensure_future(consume()) for _ in range(3)]
        await eventually(lambda: len(condition._waiters) == 3)
        tasks[2].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[2]
        async with condition:
            box.extend([1, 2])
            condition.notify_all()
        assert sorted([await tasks[0], await tasks[1]]) == [1, 2]

    go(work())
    assert holders(client, name) == []


def test_a_grant_outlives_a_loop_that_is_closed(client: meshlock.Client, name: str) -> None:
    """Nothing is told to a loop that is gone, and nothing breaks."""

    async def work() -> aio.Grant:
        return await shared(client).acquire(name)

    grant = go(work())
    assert len(holders(client, name)) == 1
    grant.release_soon()
    until(lambda: not holders(client, name))
    assert threading.active_count() < 20
