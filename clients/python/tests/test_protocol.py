"""What a client does when its node is silent, old, broken, or gone: with a node that does what the test says."""

from __future__ import annotations

import gc
import json
import os
import threading
import time

import pytest
from fake_node import FakeNode, aside, granted, pushed, queued
from nodes import PATIENCE, until

import meshlock
from meshlock import _ask, _core, _processes


def test_a_grant_says_what_the_node_says() -> None:
    with FakeNode() as node, meshlock.Client(**node.address, owner="cart-7") as client:
        result = aside(lambda: client.acquire("dock", units=2, priority=5, session="north", lease=12, timeout=PATIENCE))
        connection = node.accepts()
        head = connection.head()
        assert head.startswith("GET /v1/stream HTTP/1.1\r\n") and "upgrade: meshlock/1" in head.lower()
        connection.link.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: meshlock/1\r\n\r\n" + b'{"hello":{"node":"a"}}\n'
        )
        said = connection.hears()
        asked = said["request"]
        assert said["do"] == "acquire" and len(asked["id"]) == 32
        assert asked == {
            "id": asked["id"],
            "resource": "dock",
            "units": 2,
            "urgency": {"priority": 5},
            "session": "north",
            "lease_ms": 12_000,
            "owner": "cart-7",
        }
        connection.says(granted(said, fence=2**60 + 1, units=2, slots=[0, 3], slot_names=["gpu-a", "gpu-d"]))
        grant = result()
        assert (grant.fence, grant.slots, grant.slot_names, grant.units) == (2**60 + 1, (0, 3), ("gpu-a", "gpu-d"), 2)
        release = aside(grant.release)
        said = connection.hears()
        assert said["do"] == "release" and said["id"] == grant.id
        connection.says(granted(said, state="RELEASED"))
        release()
        with pytest.raises(RuntimeError):
            grant.release()


def test_a_node_without_numbered_units_gives_none() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        result = aside(lambda: client.acquire("dock"))
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        assert (result().slots, result().slot_names) == (None, None)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ("404 Not Found", meshlock.NodeTooOld, "upgrade the node"),
        ("401 Unauthorized", meshlock.Refused, "MESHLOCK_TOKEN_FILE"),
        ("426 Upgrade Required", meshlock.Refused, "no such version"),
        ("503 Service Unavailable", meshlock.Refused, "no such version"),
        ("200 OK", meshlock.Garbled, "does not upgrade"),
    ],
)
def test_a_node_that_does_not_upgrade_is_told_apart(answer: str, error: type[Exception], words: str) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        result = aside(lambda: client.acquire("dock"))
        body = '{"reason":"unavailable","message":"no such version"}'
        connection = node.accepts()
        connection.head()
        connection.link.sendall(f"HTTP/1.1 {answer}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        with pytest.raises(error, match=words):
            result()


def test_nonsense_is_an_error_and_not_a_hang() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        result = aside(lambda: client.acquire("dock"))
        connection = node.accepts()
        connection.head()
        connection.link.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")
        with pytest.raises(meshlock.Garbled):
            result()


@pytest.mark.parametrize("nonsense", [b"garbage\n", b"[]\n", b'{"n":"x","request":{}}\n', b'{"problem":{}}\n'])
def test_a_line_that_makes_no_sense_fails_what_waits(nonsense: bytes) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.hears()
        connection.link.sendall(nonsense)
        with pytest.raises(meshlock.Garbled):
            request.result(PATIENCE)
        assert connection.ended()


def test_a_request_that_no_line_can_carry_is_refused_here() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        with pytest.raises(meshlock.Refused, match="too long"):
            client.acquire("dock", session="x" * _core.LONGEST_REQUEST)
        request = client.request("dock", session="x" * (_core.LONGEST_REQUEST - 1_000))
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        assert request.result(PATIENCE).fence == 7


def test_timers_of_requests_that_are_over_are_forgotten() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        first = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        kept = first.result(PATIENCE)
        for _ in range(500):
            request = client.request("dock")
            connection.says(granted(connection.hears()))
            release = aside(request.result(PATIENCE).release)
            connection.says(granted(connection.hears(), state="RELEASED"))
            release()
        assert len(client._core._timers) < 250 and any(each[2] is kept._ask for each in client._core._timers)


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "LONGEST_LINE", 1_000)
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        answer = json.dumps(granted(said)).encode()
        connection.link.sendall(b" " * (1_000 - len(answer)) + answer + b"\n")
        assert request.result(PATIENCE).fence == 7
        connection.link.sendall(b" " * 1_001)
        assert connection.ended()


def test_no_node_names_the_fix(tmp_path: object) -> None:
    with pytest.raises(meshlock.NoNode, match=r"meshlock node.*MESHLOCK_SOCKET"):
        meshlock.Client(socket=f"{tmp_path}/none").acquire("dock")
    with pytest.raises(ConnectionError):
        meshlock.Client(socket=f"{tmp_path}/none").health()


def test_patience_with_a_silent_node_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "DIAL_PATIENCE", 10 * PATIENCE)
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        with pytest.raises(meshlock.NodeSilent):
            client.acquire("dock", timeout=0)
        with pytest.raises(meshlock.NodeSilent):
            client.acquire("dock", timeout=0.6)


def test_a_refusal_has_a_reason_and_a_sentence() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        result = aside(lambda: client.acquire("dock", units=9))
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says({"n": said["n"], "problem": {"reason": "conflict", "message": "dock has 3 units"}})
        with pytest.raises(meshlock.Refused, match="dock has 3 units") as caught:
            result()
        assert caught.value.reason == "conflict"


def test_a_try_ends_when_the_node_is_certain() -> None:
    with FakeNode() as node, meshlock.Client(**node.address, try_patience=PATIENCE) as client:
        result = aside(lambda: client.acquire("dock", timeout=0))
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said))  # the token is elsewhere
        connection.says(pushed(queued(said), place={"ahead": 0, "exact": True}))
        with pytest.raises(TimeoutError, match="others hold it"):
            result()
        assert connection.hears()["do"] == "release"


def test_a_grant_that_comes_late_within_a_try_is_taken() -> None:
    with FakeNode() as node, meshlock.Client(**node.address, try_patience=PATIENCE) as client:
        result = aside(lambda: client.acquire("dock", timeout=0))
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said), pushed(granted(said)))
        assert result().fence == 7


class Clock:
    """The clock of clients, in the hands of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in (_core, _ask):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)

    def passes(self, client: meshlock.Client, seconds: float) -> None:
        self.now += seconds
        client._core._wake()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_grant_after_a_long_wait_is_renewed_before_it_is_believed(clock: Clock) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said))
        until(lambda: request.info)
        clock.passes(client, 3600)
        connection.says(pushed(granted(said)))
        renew = connection.hears()
        assert renew["do"] == "renew" and not request.done()
        connection.says(granted(renew))
        assert request.result(PATIENCE).remaining() == 30


def test_a_lease_counts_from_before_the_question(clock: Clock) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        clock.now += 4  # the answer takes its time
        connection.says(granted(said))
        grant = request.result(PATIENCE)
        assert grant.remaining() == 26
        clock.now += 26
        assert grant.lost.is_set() and grant.lost.wait(0)
        with pytest.raises(meshlock.LockLost, match="lease"):
            grant.check()
        release = aside(grant.release)
        connection.says(granted(connection.hears(), state="EXPIRED"))
        with pytest.raises(meshlock.LockLost):
            release()


def test_a_third_of_the_lease_after_asking_it_is_renewed(clock: Clock) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        for _ in range(3):
            clock.passes(client, 10)
            renew = connection.hears()
            assert (renew["do"], renew["id"]) == ("renew", grant.id)
            assert grant.remaining() == 20
            connection.says(granted(renew))
            until(lambda: grant.remaining() == 30)


def test_a_node_that_answers_no_renewal_loses_the_lock(clock: Clock) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        told: list[meshlock.LockLost] = []
        grant = request.result(PATIENCE)
        grant.on_loss(told.append)
        clock.passes(client, 10)
        assert connection.hears()["do"] == "renew"
        clock.passes(client, 20)
        assert connection.hears()["do"] == "release"  # if the node still believes in it, others need not wait
        until(lambda: told)
        assert "did not answer" in str(told[0])


def test_on_a_unix_socket_the_end_of_the_connection_is_the_loss() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        told = threading.Event()
        grant.on_loss(lambda loss: told.set())
        connection.close()
        assert told.wait(PATIENCE)
        with pytest.raises(meshlock.LockLost, match="connection"):
            grant.release()


def test_what_waits_on_a_unix_socket_is_asked_anew_with_another_id() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock", priority=3)
        connection = node.accepts().upgrades()
        first = connection.hears()
        connection.says(queued(first))
        until(lambda: request.info)
        connection.close()
        connection = node.accepts().upgrades()
        second = connection.hears()
        assert second["request"].pop("id") != first["request"].pop("id")
        assert second["request"] == first["request"]
        connection.says(granted({**second, "request": {"id": request.id}}))
        assert request.result(PATIENCE).fence == 7


def test_over_tcp_a_client_comes_back_with_the_same_id() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        held, waiting = client.request("dock"), client.request("dock")
        connection = node.accepts()
        assert "Authorization: Bearer secret" in connection.head()
        connection.link.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        first, second = connection.hears(), connection.hears()
        connection.says(granted(first), queued(second))
        grant = held.result(PATIENCE)
        connection.close()
        connection = node.accepts().upgrades()
        renewal, again = connection.hears(), connection.hears()
        assert (renewal["do"], renewal["id"]) == ("renew", grant.id)
        assert again["request"] == second["request"]
        connection.says(granted(renewal), granted(again, fence=8))
        taken = connection.hears()
        assert (taken["do"], taken["request"]) == ("acquire", first["request"])
        connection.says(granted(taken))
        assert waiting.result(PATIENCE).fence == 8
        assert not grant.lost.is_set()


def test_over_tcp_a_node_that_was_started_anew_is_not_asked_for_a_second_grant() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        connection.close()
        connection = node.accepts().upgrades()
        said = connection.hears()
        assert said["do"] == "renew"
        connection.says({"n": said["n"], "problem": {"reason": "unknown", "message": "no such request"}})
        assert grant.lost.wait(PATIENCE) and "no longer knows it" in str(grant.loss)
        ending = aside(grant.release)
        said = connection.hears()
        assert (said["do"], said["id"]) == ("release", grant.id)
        connection.says({"n": said["n"], "problem": {"reason": "unknown", "message": "no such request"}})
        with pytest.raises(meshlock.LockLost):
            ending()


def test_over_tcp_what_was_lost_while_the_node_was_away_is_not_asked_for_again() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        connection.close()
        connection = node.accepts()  # it does not answer yet
        with client._core._mutex:  # the lease ends
            grant._ask.expires = time.monotonic()
            client._core._set_timer(grant._ask, grant._ask.expires)
        until(lambda: grant._ask.state == _core.LOST)
        connection.upgrades()
        said = connection.hears()
        assert (said["do"], said["id"]) == ("release", grant.id)


def test_another_fence_is_another_grant() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears(), fence=7))
        grant = request.result(PATIENCE)
        connection.close()
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears(), fence=8))
        assert grant.lost.wait(PATIENCE) and "another fence" in str(grant.loss)


def test_over_tcp_what_the_node_has_ended_meanwhile_is_lost() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        connection.close()
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears(), state="EXPIRED", expiry="lease", reason="no sign of its client"))
        assert grant.lost.wait(PATIENCE) and "no sign of its client" in str(grant.loss)


def test_over_tcp_a_release_is_said_when_the_connection_is_back() -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(granted(said))
        grant = request.result(PATIENCE)
        connection.close()
        connection = node.accepts()  # it does not answer yet
        grant.release()
        connection.upgrades()
        said_again = connection.hears()
        assert (said_again["do"], said_again["id"]) == ("release", said["request"]["id"])
        connection.says(granted(said_again, state="RELEASED"))
        until(lambda: grant._ask.state == _core.OVER)


def test_over_tcp_a_connection_without_an_answer_is_given_up(clock: Clock) -> None:
    with FakeNode(tcp=True) as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said))
        until(lambda: request.info)
        clock.passes(client, _core.QUIET)
        assert connection.hears()["do"] == "ping"
        clock.passes(client, _core.QUIET)
        again = node.accepts().upgrades()
        asked = again.hears()
        assert asked["request"]["id"] == said["request"]["id"]
        again.says(granted(asked))
        request.result(PATIENCE)


def test_a_program_that_ends_releases_what_it_has_over_tcp() -> None:
    with FakeNode(tcp=True) as node:
        client = meshlock.Client(**node.address)
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        _processes._at_exit()
        assert connection.hears()["do"] == "release"
        assert isinstance(grant.loss, meshlock.LockLost)
        with pytest.raises(meshlock.ClientClosed):
            client.acquire("dock")


def test_what_is_revoked_is_lost_and_the_node_hears_when_its_user_has_stopped() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(granted(said))
        work = threading.Event()

        def hold() -> None:
            with request.result(PATIENCE) as grant:
                assert grant.lost.wait(PATIENCE)
                work.wait(PATIENCE)

        result = aside(hold)
        until(lambda: request.done())
        connection.says(pushed(granted(said), state="REVOKED", reason="its node is shutting down"))
        connection.link.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.link.recv(1)  # not before it has stopped
        connection.link.settimeout(PATIENCE)
        work.set()
        release = connection.hears()
        assert release["do"] == "release"
        connection.says(granted(release, state="REVOKED"))
        with pytest.raises(meshlock.LockLost, match="shutting down"):
            result()


def test_an_error_of_the_work_is_not_hidden_by_the_loss() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))

        def hold() -> None:
            with request.result(PATIENCE) as grant:
                assert grant.lost.wait(PATIENCE)
                raise KeyError("of the work")

        result = aside(hold)
        until(lambda: request.done())
        connection.close()
        with pytest.raises(KeyError):
            result()


def test_what_is_dropped_is_given_back_with_a_warning() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        name = grant.id
        with pytest.warns(ResourceWarning, match="not released"):
            del grant, request
            gc.collect()
        said = connection.hears()
        assert (said["do"], said["id"]) == ("release", name)


def test_a_request_that_is_dropped_is_cancelled() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said))
        del request
        gc.collect()
        assert connection.hears()["do"] == "release"


def test_a_client_that_is_dropped_closes_its_connection() -> None:
    with FakeNode() as node:
        client = meshlock.Client(**node.address)
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(queued(connection.hears()))
        del client, request
        gc.collect()
        assert connection.ended()


def test_a_waiting_request_can_be_made_more_urgent() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        said = connection.hears()
        connection.says(queued(said))
        until(lambda: request.info)
        change = aside(lambda: request.change(priority=9))
        line = connection.hears()
        assert (line["do"], line["urgency"]) == ("change", {"priority": 9})
        connection.says(queued({**line, "request": said["request"]}, urgency={"priority": 9}))
        change()
        assert request.info["urgency"] == {"priority": 9}


def test_after_a_fork_the_child_has_a_connection_of_its_own() -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client:
        request = client.request("dock")
        connection = node.accepts().upgrades()
        connection.says(granted(connection.hears()))
        grant = request.result(PATIENCE)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert grant.lost.is_set() and "parent" in str(grant.loss)
                assert client.acquire("dock").fence == 9
                code = 0
            finally:
                os._exit(code)
        own = node.accepts().upgrades()
        own.says(granted(own.hears(), fence=9))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert own.ended()
        assert not grant.lost.is_set()
        client._core._link.close()  # type: ignore[union-attr] # as the end of the parent does
        client._core._wake()
        assert connection.ended(), "the child kept no copy of it"


@pytest.mark.parametrize(
    "wrong",
    [
        {"units": 0},
        {"priority": 1, "deadline": 2},
        {"session": "a", "shared": True},
        {"lease": 0},
        {"timeout": -1},
    ],
)
def test_arguments_that_make_no_sense_are_refused_here(wrong: dict[str, object]) -> None:
    with FakeNode() as node, meshlock.Client(**node.address) as client, pytest.raises(ValueError):
        client.acquire("dock", **wrong)  # type: ignore[arg-type]
