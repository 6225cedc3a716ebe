"""What can go wrong, with the fix in words."""

from __future__ import annotations

from typing import Any


class MeshlockError(Exception):
    """The base of all errors of this package."""


class BadAddress(MeshlockError, ValueError):
    """An address that makes no sense."""


class NoNode(MeshlockError, ConnectionError):
    """No node listens there, or the connection to it is gone."""

    def __init__(self, place: str, cause: object) -> None:
        self.place = place
        self.cause = cause
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        fix = "start one there (`meshlock node`), or set MESHLOCK_SOCKET or MESHLOCK_URL to where one listens"
        if isinstance(self.cause, PermissionError):
            fix = "let the node's `socket-group` be a group of yours, or run this as the node's user"
        return f"no node answers at {self.place} ({self.cause}): {fix}"


class NodeSilent(NoNode):
    """The node accepted the connection and then did not answer."""

    def _sentence(self) -> str:
        return f"the node at {self.place} does not answer ({self.cause}): is it stopped, or stuck?"


class NodeTooOld(MeshlockError):
    """The node does not know what this client needs."""

    def __init__(self, place: str, what: str = "/v1/stream") -> None:
        self.place = place
        super().__init__(f"the node at {place} does not know {what}, which this client needs: upgrade the node")


class Untrusted(MeshlockError):
    """Another user could have put the socket there."""


class Refused(MeshlockError):
    """The node refused, and says why."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        """One word for programs, such as ``conflict``."""
        self.message = message
        """One sentence for people; it names the fix where there is one."""
        super().__init__(message)


class Timeout(MeshlockError, TimeoutError):
    """Not granted in time."""

    def __init__(self, resource: str, after: float, info: dict[str, Any] | None = None) -> None:
        self.resource = resource
        self.info = info or {}
        """The last that was heard of the request."""
        super().__init__(f"{resource!r} was not granted within {after:g} s: {self._why()}")

    def _why(self) -> str:
        lost = self.info.get("out_of_reach")
        if lost is None:
            # Of several, the node asks for one after the other, in the order of their names as bytes.
            waiting = [str(part["resource"]) for part in self.info.get("parts", []) if part.get("state") == "QUEUED"]
            name = min(waiting, key=str.encode, default=self.resource)
            return f"others hold {repr(name) if waiting else 'it'}; `meshlock status {name}` shows them"
        seen = lost.get("last_seen")
        where = f", last seen at {seen}: bring {seen} back, or the links to it" if seen else ""
        return f"its token is out of reach{where}"


class LockLost(MeshlockError):
    """What was held is held no longer, and others may be let in."""

    def __init__(self, resource: str, why: str) -> None:
        self.resource = resource
        self.why = why
        super().__init__(f"{resource!r} is lost: {why}")


class RequestOver(MeshlockError):
    """The request ended before it was granted, and this program did not ask for that."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.info = info
        reason = info.get("reason") or "it was ended at its node"
        super().__init__(f"the request for {info.get('resource')!r} is {info.get('state')}: {reason}")


class Garbled(MeshlockError):
    """The answer makes no sense."""

    def __init__(self, place: str, cause: object) -> None:
        self.place = place
        super().__init__(f"the answer of {place} cannot be understood ({cause}): is it a node of meshlock?")


class ClientClosed(MeshlockError):
    """The client was closed while something was asked of it, or before."""

    def __init__(self) -> None:
        super().__init__("this client is closed: make another one")
