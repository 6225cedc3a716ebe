"""Where a node is: the same defaults and variables as the command `meshlock`."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .errors import BadAddress, Untrusted

SYSTEM = "/run/meshlock/meshlock.sock"


@dataclass(frozen=True)
class Address:
    """A Unix socket, or a host and port."""

    socket: str | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        return self.socket if self.socket is not None else f"http://{self.authority}"

    @property
    def authority(self) -> str:
        """The header `host`."""
        if self.socket is not None:
            return "localhost"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(text: str) -> Address:
    """Reads `unix:/path` or `http://host:port`."""
    wrong = BadAddress(f"{text!r} is no address of a node: write http://host:port or unix:/path/of/the.sock")
    if text.startswith("unix:"):
        path = text[len("unix:") :]
        if path.startswith("///"):
            path = path[2:]
        if not path:
            raise wrong
        return Address(socket=path)
    if text.startswith("https://"):
        raise BadAddress(f"{text!r}: nodes speak plain HTTP; use http:// on this machine or through a tunnel")
    if not text.startswith("http://"):
        raise wrong
    rest = text[len("http://") :].rstrip("/")
    name, colon, digits = rest.rpartition(":")
    if not colon or not name or not digits.isascii() or not digits.isdigit() or int(digits) > 65_535:
        raise wrong
    if any(sign in rest for sign in "/?#@ \r\n\t") or (":" in name and not (name[0] == "[" and name[-1] == "]")):
        raise wrong
    return Address(host=name.strip("[]"), port=int(digits))


def choose(socket: str | os.PathLike[str] | None, url: str | None) -> Address:
    """What the program says, then `MESHLOCK_URL`, then `MESHLOCK_SOCKET`, then the usual place."""
    if url is not None and socket is not None:
        raise BadAddress("give a socket or a url, not both")
    if url is not None:
        return parse(url)
    if socket is not None:
        return Address(socket=os.fspath(socket))
    if os.environ.get("MESHLOCK_URL"):
        return parse(os.environ["MESHLOCK_URL"])
    return Address(socket=os.environ.get("MESHLOCK_SOCKET") or usual_socket())


def usual_socket() -> str:
    """This user's node if there is one, otherwise the machine's."""
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = f"/tmp/meshlock-{user}/meshlock.sock"
    if user == 0:
        own = SYSTEM
    elif os.path.isabs(runtime):
        own = os.path.join(runtime, "meshlock", "meshlock.sock")
    return next((path for path in (own, SYSTEM) if os.path.exists(path)), own)


def token_of(token: str | None, file: str | os.PathLike[str] | None) -> str | None:
    """The bearer token for TCP: as given, from a file, or from the file that `MESHLOCK_TOKEN_FILE` names."""
    if token is None:
        file = file if file is not None else os.environ.get("MESHLOCK_TOKEN_FILE") or None
        if file is None:
            return None
        try:
            token = Path(file).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise BadAddress(f"cannot read the token file {os.fspath(file)}: {error}") from error
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise BadAddress("the token is empty or has characters that no token has")
    return token


Look = Callable[[str], os.stat_result]


def check_trust(socket: str, me: int | None = None, look: Look = os.lstat) -> None:
    """Fails if another user could have put the socket there: the process behind it could grant anything.

    A name in a directory in which all users may write must be ours or root's; in another directory its owner decides
    whose it may be, and with that whom we trust. What is not there is no reason: connecting will tell.
    """
    me = os.geteuid() if me is None else me
    path = os.path.abspath(socket)
    for each in dict.fromkeys((path, os.path.realpath(path))):
        trusted = {0, me}
        above: os.stat_result | None = None
        for place in [*map(str, reversed(Path(each).parents)), each]:
            try:
                found = look(place)
            except OSError:
                break
            if above is not None and above.st_mode & stat.S_IWOTH:
                if not above.st_mode & stat.S_ISVTX:
                    raise _stranger(socket, place, "every user may write in the directory above it, and replace it")
                if found.st_uid not in trusted:
                    why = f"it belongs to user {found.st_uid}, not to you (user {me}) or root"
                    raise _stranger(socket, place, why)
            else:
                trusted.add(found.st_uid)
            above = found


def _stranger(socket: str, place: str, why: str) -> Untrusted:
    return Untrusted(
        f"the socket {socket} is not trusted: {place}: {why}. A process of another user behind it could read every "
        "request and grant anything. Have it removed, or set MESHLOCK_SOCKET to the socket of your own node"
    )
