"""Real nodes as processes, for tests. A mesh is one node, or several that are linked over loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, TypeVar

import meshlock

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0
"""For what has to happen. No test waits for something not to happen."""


def binary() -> str:
    """`MESHLOCK_BINARY`, or what cargo has built."""
    named = os.environ.get("MESHLOCK_BINARY")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    found = [named] if named else [str(target / kind / "meshlock") for kind in ("debug", "release")]
    for each in found:
        if os.access(each, os.X_OK):
            return each
    raise RuntimeError(f"no program at {' or '.join(found)}: `cargo build -p meshlock-cli`, or set MESHLOCK_BINARY")


def until(look: Callable[[], T], what: str = "it") -> T:
    """Waits until something is so."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {PATIENCE:g} s")
        time.sleep(0.01)


def free_port(kind: int = sockets.SOCK_STREAM) -> int:
    """A port of loopback that is free now."""
    with contextlib.closing(sockets.socket(sockets.AF_INET, kind)) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Node:
    """One process of `meshlock node`."""

    def __init__(self, home: Path, name: str, peers: tuple[int, ...] = (), tcp: bool = False) -> None:
        self.home = home
        self.name = name
        self.socket = str(home / f"{name}.sock")
        self.port = free_port(sockets.SOCK_DGRAM)
        self.peers = peers
        self.api = free_port() if tcp else None
        self.token_file = home / f"{name}.token"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def directory(self) -> str:
        return str(self.home / self.name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.api}"

    def start(self) -> Node:
        """Starts it, and waits until it answers."""
        words = [binary(), "node", "--dir", self.directory, "--socket", self.socket]
        words += ["--listen", f"127.0.0.1:{self.port}"]
        for peer in self.peers:
            words += ["--peer", f"127.0.0.1:{peer}"]
        if self.api is not None:
            self.token_file.write_text("a-token-for-tests-0123456789abcdef")
            self.token_file.chmod(0o600)
            words += ["--tcp", f"127.0.0.1:{self.api}", "--token-file", str(self.token_file)]
        log = (self.home / f"{self.name}.log").open("ab")
        self.process = subprocess.Popen(words, stdout=log, stderr=log, env=clean_environment())
        until(self._answers, f"the start of {self.name} ({self.log()[-2000:]})")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended: {self.log()}")
        with contextlib.suppress(meshlock.MeshlockError):
            return bool(meshlock.Client(socket=self.socket).health())
        return False

    def log(self) -> str:
        path = self.home / f"{self.name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self, *words: str) -> str:
        """A command of `meshlock` at this node."""
        done = subprocess.run(
            [binary(), *words, "--socket", self.socket], capture_output=True, text=True, env=clean_environment()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self, **options: Any) -> meshlock.Client:
        """A client whose tries have the time that a busy machine needs."""
        return meshlock.Client(socket=self.socket, **{"try_patience": PATIENCE, **options})

    def hasty_client(self) -> meshlock.Client:
        """For tries that must fail, at a node that does not have the token and so cannot know that they do.

        It is connected already, and a second is enough for any answer but a grant.
        """
        made = self.client(try_patience=1.0)
        made.acquire(f"warm-{self.name}").release()
        return made

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None


class Mesh:
    """Nodes that are linked to the first one."""

    def __init__(self, names: list[str], tcp: bool = False) -> None:
        # Short: the path of a Unix socket has a hundred characters.
        self.home = Path(tempfile.mkdtemp(prefix="ml-py-"))
        self.nodes: list[Node] = []
        try:
            first = Node(self.home, names[0], tcp=tcp)
            self._setup("init", "hall", "--node", first.name, "--dir", first.directory, "--recovery", "restart")
            self.nodes.append(first.start())
            for name in names[1:]:
                node = Node(self.home, name, (first.port,), tcp)
                invitation = self._setup("invite", name, "--dir", first.directory)
                self._setup("join", "-", "--dir", node.directory, given=invitation)
                self.nodes.append(node.start())
            for node in self.nodes:
                client = meshlock.Client(socket=node.socket)
                until(lambda client=client: len(client.status()["nodes"]) == len(names), "the links")  # type: ignore[misc]
        except BaseException:
            self.close()
            raise

    def _setup(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [binary(), "mesh", *words], input=given, capture_output=True, text=True, env=clean_environment()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.home, ignore_errors=True)


def cut(client: meshlock.Client) -> None:
    """Breaks the connection of a client. On a Unix socket that is the loss of all it has."""
    link = client._core._link
    assert link is not None
    link.shutdown(sockets.SHUT_RDWR)


def clean_environment() -> dict[str, str]:
    """Without what would lead to a node of the machine."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MESHLOCK_")}


def holders(client: meshlock.Client, name: str) -> list[dict[str, Any]]:
    """At the node of the client."""
    return _rows(client, name, "holders")


def waiters(client: meshlock.Client, name: str) -> list[dict[str, Any]]:
    """At the node of the client."""
    return _rows(client, name, "waiters")


def _rows(client: meshlock.Client, name: str, kind: str) -> list[dict[str, Any]]:
    try:
        found = client.status(name, 0)["resources"]
    except meshlock.Refused:  # the node has not heard of it yet
        return []
    return [row for resource in found for row in resource[kind]]
