"""Forks and the end of the program, for all clients of a process."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Core

_cores: weakref.WeakSet[Core] = weakref.WeakSet()
_cores_mutex = threading.Lock()
_forking: list[Core] = []


def register(core: Core) -> None:
    """From now on it is told of forks and of the end of the program."""
    with _cores_mutex:
        _cores.add(core)


def _before_fork() -> None:
    """No thread is in the middle of something when the memory is copied."""
    _cores_mutex.acquire()
    _forking[:] = sorted(_cores, key=id)
    for core in _forking:
        core._mutex.acquire()


def _after_in_parent() -> None:
    for core in _forking:
        core._mutex.release()
    _forking.clear()
    _cores_mutex.release()


def _after_in_child() -> None:
    for core in _forking:
        core.after_fork()
    _forking.clear()
    _cores_mutex.release()


def _at_exit() -> None:
    """Over TCP a node cannot tell the end of a program from a broken network."""
    with _cores_mutex:
        cores = list(_cores)
    for core in cores:
        if core.address.socket is None:
            core.close()


os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
atexit.register(_at_exit)
