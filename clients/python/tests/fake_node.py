"""A node that says what a test tells it to: silence, nonsense, broken connections, old answers. Everything that a real
node does is tested with a real one."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket as sockets
import tempfile
import threading
from typing import Any, Callable

HELLO = {"hello": {"node": "fake", "mesh": "hall", "version": "0.1.0"}}
UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: meshlock/1\r\n\r\n"
PATIENCE = 60


class Connection:
    """What one client said, and what it is answered."""

    def __init__(self, link: sockets.socket) -> None:
        self.link = link
        self.link.settimeout(PATIENCE)
        self._read = b""

    def head(self) -> str:
        while b"\r\n\r\n" not in self._read:
            self._more()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        return head.decode()

    def hears(self) -> dict[str, Any]:
        while b"\n" not in self._read:
            self._more()
        line, _, self._read = self._read.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def _more(self) -> None:
        read = self.link.recv(65_536)
        if not read:
            raise EOFError("the client closed the connection")
        self._read += read

    def ended(self) -> bool:
        """Whether the client closes the connection; waits for it."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                self.hears()
        return True

    def says(self, *lines: Any) -> None:
        self.link.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def upgrades(self) -> Connection:
        self.head()
        self.link.sendall(UPGRADED)
        self.says(HELLO)
        return self

    def close(self) -> None:
        self.link.close()


def granted(said: dict[str, Any], fence: int = 7, **more: Any) -> dict[str, Any]:
    """The answer to an `acquire` or a `renew`."""
    request = said.get("request", said)
    info = {
        "id": request["id"],
        "resource": "dock",
        "state": "GRANTED",
        "units": 1,
        "urgency": {"priority": 0},
        "fence": fence,
        "lease_ms": 30_000,
        "expires_in_ms": 30_000,
        "waited_ms": 0,
        "held_ms": 0,
    }
    return {"n": said["n"], "request": {**info, **more}}


def queued(said: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = granted(said, state="QUEUED", **more)
    del answer["request"]["fence"]
    return answer


def pushed(answer: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"request": {**answer["request"], **more}}


class FakeNode:
    """Listens on a Unix socket or on loopback; every connection is given to the test."""

    def __init__(self, tcp: bool = False) -> None:
        self.connections: queue.Queue[Connection] = queue.Queue()
        self.directory: tempfile.TemporaryDirectory[str] | None = None
        if tcp:
            self.listener = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
            self.listener.bind(("127.0.0.1", 0))
            self.address = {"url": f"http://127.0.0.1:{self.listener.getsockname()[1]}", "token": "secret"}
        else:
            self.directory = tempfile.TemporaryDirectory(prefix="ml-py-")
            self.listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
            path = os.path.join(self.directory.name, "sock")
            self.listener.bind(path)
            self.address = {"socket": path}
        self.listener.listen(16)
        self.open: list[Connection] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = Connection(self.listener.accept()[0])
                self.open.append(connection)
                self.connections.put(connection)

    def accepts(self) -> Connection:
        return self.connections.get(timeout=PATIENCE)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(sockets.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            connection.close()
        if self.directory is not None:
            self.directory.cleanup()

    def __enter__(self) -> FakeNode:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def aside(work: Callable[[], Any]) -> Callable[[], Any]:
    """Does it on a thread; what comes back waits for its result."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it does not end"
        if errors:
            raise errors[0]
        return results[0]

    return result
