"""Objects with the interface of threading, where CPython's own tests do not look."""

from __future__ import annotations

import threading
from typing import Any, Callable

import pytest
from fake_node import aside
from nodes import PATIENCE, Node, cut, holders, until

import meshlock


def test_two_objects_of_one_name_are_one_lock(ann: Node, bob: Node, name: str) -> None:
    with ann.client() as here, bob.hasty_client() as there:
        first, second = meshlock.Lock(name, here), meshlock.Lock(name, there, priority=3)
        with first as grant:
            assert first.locked() and not second.locked() and first.grant is grant
            assert not second.acquire(blocking=False)
        assert second.acquire(timeout=PATIENCE)
        second.release()


def test_a_thread_does_not_give_back_what_another_one_has(client: meshlock.Client, name: str) -> None:
    """The first has lost it, and does not know yet."""
    lock = meshlock.Lock(name, client)
    held, got, done = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        lock.acquire()
        held.set()
        got.wait(PATIENCE)
        with pytest.raises(meshlock.LockLost):
            lock.release()
        done.set()

    def second() -> None:
        held.wait(PATIENCE)
        cut(client)
        assert lock.acquire()
        got.set()
        done.wait(PATIENCE)
        assert lock.locked() and len(holders(client, name)) == 1
        lock.release()

    results = [aside(first), aside(second)]
    for result in results:
        result()


def test_rlocks_of_two_processes_exclude_each_other(client: meshlock.Client, ann: Node, bob: Node, name: str) -> None:
    lock = meshlock.RLock(name, client)
    with lock as outer, lock as inner:
        assert outer is inner
        with bob.hasty_client() as there:
            assert not meshlock.RLock(name, there).acquire(blocking=False)
    with bob.client() as there, meshlock.RLock(name, there):
        assert not meshlock.RLock(name, ann.hasty_client()).acquire(blocking=False)


def test_a_semaphore_is_made_once_and_keeps_its_capacity(client: meshlock.Client, bob: Node, name: str) -> None:
    with meshlock.Semaphore(name, 2, client) as grant:
        assert grant.units == 1
        with bob.client() as there:
            same = meshlock.Semaphore(name, client=there)
            assert same.acquire(blocking=False)
            assert not meshlock.Semaphore(name, client=bob.hasty_client()).acquire(blocking=False)
            same.release()
            with pytest.raises(meshlock.Refused, match="capacity 2, not a semaphore of capacity 3"):
                meshlock.Semaphore(name, 3, there).acquire()
            with (
                pytest.raises(meshlock.Refused, match="not a readers-writer"),
                meshlock.ReadersWriterLock(name, there).read(),
            ):
                pass


def test_a_semaphore_of_an_operator_is_used_as_it_is(client: meshlock.Client, name: str) -> None:
    client.make_resource(name, capacity=2, lease=12, aging=3)
    with meshlock.BoundedSemaphore(name, 2, client):
        pass


def test_readers_read_together_and_a_writer_writes_alone(
    client: meshlock.Client, ann: Node, bob: Node, name: str
) -> None:
    lock = meshlock.ReadersWriterLock(name, client)
    with ann.hasty_client() as here, bob.hasty_client() as there:
        other = meshlock.ReadersWriterLock(name, there)
        with (
            lock.read(),
            other.read(),
            pytest.raises(meshlock.Timeout),
            meshlock.ReadersWriterLock(name, here).write(timeout=0),
        ):
            pass
        with lock.write() as alone:
            alone.check()
            with pytest.raises(meshlock.Timeout), other.read(timeout=0):
                pass


def test_one_session_at_a_time(client: meshlock.Client, ann: Node, bob: Node, name: str) -> None:
    north, south = meshlock.Session(name, "north", client), meshlock.Session(name, "south", ann.hasty_client())
    with bob.client() as there:
        with north as grant, meshlock.Session(name, "north", there):
            assert grant.session == "north"
            with pytest.raises(meshlock.Timeout), south.attend(timeout=0):
                pass
        with south:
            pass


@pytest.mark.parametrize("kind", [meshlock.Lock, meshlock.RLock, meshlock.Semaphore])
def test_a_lost_lock_is_told_at_the_end_of_with(client: meshlock.Client, name: str, kind: Callable[..., Any]) -> None:
    lock = kind(name, client=client)
    with pytest.raises(meshlock.LockLost), lock as grant:
        cut(client)
        assert grant.lost.wait(PATIENCE)
    with pytest.raises(KeyError), lock as grant:
        cut(client)
        assert grant.lost.wait(PATIENCE)
        raise KeyError
    with lock:
        pass


def test_a_condition_frees_the_lock_for_the_mesh_while_it_waits(client: meshlock.Client, bob: Node, name: str) -> None:
    condition = meshlock.Condition(meshlock.RLock(name, client))
    box: list[int] = []

    def consume() -> int:
        with condition:
            assert condition.wait_for(lambda: box, PATIENCE)
            return box.pop()

    result = aside(consume)
    with bob.client() as there:
        until(lambda: condition._waiters)  # type: ignore[attr-defined]
        with there.lock(name):
            pass  # another machine has the lock while our thread waits
    with condition:
        box.append(7)
        condition.notify()
    assert result() == 7
