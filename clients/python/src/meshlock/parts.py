"""One of several resources that are asked for together, and what is held of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Union

from ._ask import Info


@dataclass(frozen=True)
class Part:
    """One of several resources that are wanted together: ``lock_all(["dock-3", Part("lifts", units=2)])``."""

    resource: str
    units: int | None = None
    """How many units of a semaphore; 1 if not said."""
    session: str | None = None
    """Attend it, together with all others who do."""
    shared: bool | None = None
    """As a reader of a readers-writer resource; ``False`` as its writer."""

    def __post_init__(self) -> None:
        if self.units is not None and self.units < 1:
            raise ValueError("give at least 1 unit")
        if self.session is not None and self.shared is not None:
            raise ValueError("a resource has sessions or readers, not both")

    def body(self) -> Info:
        """As the node wants it."""
        said = {
            "resource": self.resource,
            "units": self.units,
            "session": self.session,
            "mode": None if self.shared is None else "read" if self.shared else "write",
        }
        return {key: value for key, value in said.items() if value is not None}


Parts = Iterable[Union[str, Part]]


def bodies(parts: Parts) -> list[Info]:
    """Checks only what would not reach the node as it was meant; the rest is refused there."""
    if isinstance(parts, (str, Part)):
        raise TypeError(f"give a list of resources, such as [{parts!r}]; lock() is for one")
    listed = [part if isinstance(part, Part) else Part(part) for part in parts]
    if not listed:
        raise ValueError("give at least one resource")
    return [part.body() for part in listed]


@dataclass(frozen=True)
class HeldPart:
    """What is held of one resource."""

    name: str
    fence: int
    """Larger than that of every earlier grant of the resource: pass it to what the lock guards."""
    units: int
    slots: tuple[int, ...] | None
    """Which units of a semaphore, from 0; ``None`` if the node does not number them."""
    slot_names: tuple[str, ...] | None
    """Their names, if the resource has names for them."""
    session: str | None

    @classmethod
    def of(cls, info: Info) -> HeldPart:
        """Of what the node says of a part, or of a request for one resource. A grant without a fence is none."""
        slots, names = info.get("slots"), info.get("slot_names")
        return cls(
            name=str(info["resource"]),
            fence=int(info["fence"]),
            units=int(info.get("units", 1)),
            slots=None if slots is None else tuple(int(slot) for slot in slots),
            slot_names=None if names is None else tuple(str(name) for name in names),
            session=info.get("session"),
        )


def held_parts(asked: Info, info: Info) -> Mapping[str, HeldPart]:
    """By name, in the order of asking.

    :raises ValueError: the node granted something else than was asked for.
    """
    found = {part.name: part for part in map(HeldPart.of, info["parts"])}
    names = [part["resource"] for part in asked["all"]]
    if len(found) != len(info["parts"]) or sorted(found) != sorted(names):
        raise ValueError(f"granted {sorted(found)} instead of {sorted(names)}")
    return MappingProxyType({name: found[name] for name in names})
