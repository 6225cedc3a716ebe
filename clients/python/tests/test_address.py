"""Where a node is looked for, and which sockets are not trusted."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import meshlock
from meshlock import _address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/m.sock", _address.Address(socket="/run/m.sock")),
        ("unix:///run/m.sock", _address.Address(socket="/run/m.sock")),
        ("http://robot:7700", _address.Address(host="robot", port=7700)),
        ("http://[::1]:7700/", _address.Address(host="::1", port=7700)),
    ],
)
def test_addresses_are_read(text: str, address: _address.Address) -> None:
    assert _address.parse(text) == address


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "robot",
        "http://",
        "http://robot",
        "http://:1",
        "http://a:99999",
        "https://a:1",
        "unix:",
        "http://a/b:1",
        "http://a:1\r\nX: y",
        "http://::1:7700",
    ],
)
def test_nonsense_is_refused(bad: str) -> None:
    with pytest.raises(meshlock.BadAddress):
        _address.parse(bad)


def test_the_environment_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MESHLOCK_SOCKET", "/a.sock")
    assert _address.choose(None, None).socket == "/a.sock"
    monkeypatch.setenv("MESHLOCK_URL", "http://robot:7700")
    assert _address.choose(None, None).host == "robot"
    assert _address.choose("/b.sock", None).socket == "/b.sock"
    token = tmp_path / "token"
    token.write_text("abc\n")
    monkeypatch.setenv("MESHLOCK_TOKEN_FILE", str(token))
    assert meshlock.Client()._core.token == "abc"
    assert meshlock.Client(token="xyz")._core.token == "xyz"
    monkeypatch.setenv("MESHLOCK_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(meshlock.BadAddress, match="cannot read the token file"):
        meshlock.Client()


@pytest.mark.parametrize(
    ("user", "runtime", "path"),
    [
        (0, "/run/user/0", "/run/meshlock/meshlock.sock"),
        (7, "/nonexistent/7", "/nonexistent/7/meshlock/meshlock.sock"),
        (7, "", "/tmp/meshlock-7/meshlock.sock"),
        (7, "relative", "/tmp/meshlock-7/meshlock.sock"),
    ],
)
def test_every_user_has_one_place(monkeypatch: pytest.MonkeyPatch, user: int, runtime: str, path: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    assert _address.usual_socket() == path


ME, MALLORY, SERVICE = 1000, 1001, 120


@pytest.mark.parametrize(
    ("socket", "entries", "why"),
    [
        ("/tmp/d/sock", {"/tmp/d": (ME, 0o700), "/tmp/d/sock": (ME, 0o600)}, None),
        ("/tmp/d/sock", {"/tmp/d": (0, 0o755), "/tmp/d/sock": (0, 0o666)}, None),
        ("/tmp/d/sock", {}, None),  # connecting will tell
        ("/tmp/d/sock", {"/tmp/d": (MALLORY, 0o755), "/tmp/d/sock": (MALLORY, 0o666)}, "user 1001"),
        ("/tmp/d/sock", {"/tmp/d": (ME, 0o777), "/tmp/d/sock": (ME, 0o600)}, "every user may write"),
        ("/tmp/d/sock", {"/tmp/d": (ME, 0o1777), "/tmp/d/sock": (MALLORY, 0o666)}, "user 1001"),
        ("/run/m/sock", {"/run": (0, 0o755), "/run/m": (SERVICE, 0o755), "/run/m/sock": (SERVICE, 0o660)}, None),
    ],
)
def test_a_socket_that_another_user_could_have_put_there_is_refused(
    socket: str, entries: dict[str, tuple[int, int]], why: str | None
) -> None:
    places = {"/": (0, 0o755), "/tmp": (0, 0o1777), **entries}

    def look(path: str) -> os.stat_result:
        if path not in places:
            raise FileNotFoundError(path)
        return SimpleNamespace(st_uid=places[path][0], st_mode=places[path][1])  # type: ignore[return-value]

    if why is None:
        _address.check_trust(socket, ME, look)
    else:
        with pytest.raises(meshlock.Untrusted, match=why):
            _address.check_trust(socket, ME, look)


def test_every_program_can_be_an_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    from meshlock.client import _program

    process = f"[{os.getpid()}]"
    for argument, owner in [("/usr/bin/backup", "backup"), ("", "python"), ("back\tup\u202e", "back?up?")]:
        monkeypatch.setattr("sys.argv", [argument])
        assert _program() == owner + process
    monkeypatch.setattr("sys.argv", ["ü" * 300])
    assert len(_program().encode()) <= 256 and _program().endswith(process)
