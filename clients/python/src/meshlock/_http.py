"""Plain HTTP to a node: one question, one answer. Locks go over the stream instead (`_core`)."""

from __future__ import annotations

import http.client
import json
import socket as sockets
from typing import Any, Callable

from ._address import Address, check_trust
from .errors import Garbled, NodeSilent, NodeTooOld, NoNode, Refused

LONGEST_HEAD = 65_536
LONGEST_BODY = 64 * 1024 * 1024


Opened = Callable[[sockets.socket], None]


def connect(address: Address, timeout: float, opened: Opened = lambda link: None) -> sockets.socket:
    """A connection to the node. `opened` gets the socket of a Unix address before it connects."""
    try:
        if address.socket is None:
            link = sockets.create_connection((address.host, address.port), timeout)
            link.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
            link.setsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE, 1)
            return link
        check_trust(address.socket)
        link = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            opened(link)
            link.settimeout(timeout)
            link.connect(address.socket)
        except BaseException:
            link.close()
            raise
        return link
    except sockets.timeout as error:
        raise NodeSilent(str(address), f"no connection within {timeout:g} s") from error
    except OSError as error:
        raise NoNode(str(address), error) from error


def upgrade(
    address: Address, token: str | None, timeout: float, opened: Opened = lambda link: None
) -> tuple[sockets.socket, bytes]:
    """A connection that speaks lines from now on, and what was read past the head of the answer."""
    link = connect(address, timeout, opened)
    try:
        lines = ["GET /v1/stream HTTP/1.1", f"Host: {address.authority}", "Connection: Upgrade", "Upgrade: meshlock/1"]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        link.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        read = b""
        while b"\r\n\r\n" not in read:
            more = link.recv(65_536)
            if not more:
                raise NoNode(str(address), "it closed the connection")
            read += more
            if len(read) > LONGEST_HEAD:
                raise Garbled(str(address), "an endless head")
        head, _, rest = read.partition(b"\r\n\r\n")
        first = head.split(b"\r\n", 1)[0].split(b" ")
        if len(first) < 2 or not first[0].startswith(b"HTTP/1.") or not first[1].isdigit():
            raise Garbled(str(address), "not HTTP")
        if first[1] == b"101":
            return link, rest
        raise _not_upgraded(address, int(first[1]), _rest_of_body(link, head, rest))
    except sockets.timeout as error:
        link.close()
        raise NodeSilent(str(address), f"no answer within {timeout:g} s") from error
    except OSError as error:
        link.close()
        raise error if isinstance(error, NoNode) else NoNode(str(address), error) from error
    except BaseException:
        link.close()
        raise


def _rest_of_body(link: sockets.socket, head: bytes, read: bytes) -> bytes:
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = min(int(value), LONGEST_HEAD)
    while len(read) < length:
        more = link.recv(65_536)
        if not more:
            break
        read += more
    return read


def _not_upgraded(address: Address, status: int, body: bytes) -> Exception:
    if status in (404, 405):
        return NodeTooOld(str(address))
    if status == 200:
        return Garbled(str(address), "it does not upgrade the connection")
    return refusal(status, body)


def refusal(status: int, body: bytes) -> Refused:
    """The problem in an answer."""
    try:
        problem = json.loads(body)
        reason, message = str(problem["reason"]), str(problem["message"])
    except (ValueError, KeyError, TypeError):
        reason, message = f"http-{status}", f"the node answers with status {status}"
    if status == 401:
        message += "; give token=, token_file= or MESHLOCK_TOKEN_FILE"
    return Refused(reason, message)


class _Connection(http.client.HTTPConnection):
    def __init__(self, address: Address, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._address = address

    def connect(self) -> None:
        self.sock = connect(self._address, self.timeout or 10.0)


def call(
    address: Address, token: str | None, method: str, path: str, body: dict[str, Any] | None, timeout: float
) -> tuple[int, Any]:
    """Status and body of an answer. Refusals are errors, except 404, which callers may expect."""
    headers = {"Host": address.authority, "Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    link = _Connection(address, timeout)
    try:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        answer = link.getresponse()
        text = answer.read(LONGEST_BODY)
    except sockets.timeout as error:
        raise NodeSilent(str(address), f"no answer within {timeout:g} s") from error
    except http.client.HTTPException as error:
        raise Garbled(str(address), error) from error
    except OSError as error:
        raise error if isinstance(error, NoNode) else NoNode(str(address), error) from error
    finally:
        link.close()
    if answer.status >= 400 and answer.status != 404:
        raise refusal(answer.status, text)
    try:
        return answer.status, json.loads(text) if text else None
    except ValueError as error:
        raise Garbled(str(address), error) from error
