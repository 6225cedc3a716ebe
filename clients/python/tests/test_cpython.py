"""CPython's own tests of locks, run with locks of the mesh.

`EXCLUDED` is what cannot hold for a lock that is not in this process, with the reason. A test that is excluded and
would pass fails here: the table says no more than it has to.

Upper bounds on times are taken out (`assertTimeout`), since a machine may be busy; lower bounds stay.
"""

from __future__ import annotations

import itertools
import sys
import unittest
import warnings
from collections.abc import Iterator

import pytest
from nodes import Mesh, Node

import meshlock

try:
    from test import lock_tests  # type: ignore[attr-defined]
except ImportError as error:  # Debian has it in a package of its own
    raise ImportError("CPython's own tests are missing: install libpython3-testsuite") from error

EXCLUDED = {
    "LockTests.test_at_fork_reinit": "after a fork the lock is the parent's: the child cannot set it to unlocked",
    "SemaphoreTests.test_release_unacquired": "the capacity is the mesh's: a release does not add to it",
    "SemaphoreTests.test_repr": "the value is the mesh's: an object knows what it holds itself",
    "BoundedSemaphoreTests.test_repr": "the value is the mesh's: an object knows what it holds itself",
}
"""Of all versions of CPython from 3.9 on."""

names = (f"cpython-{number}" for number in itertools.count())
node: Node
client: meshlock.Client


class Patient:
    def assertTimeout(self, actual: float, expected: float) -> None:
        assert actual >= expected * 0.6  # the clock of CPython's tests is no better


class LockTests(Patient, lock_tests.LockTests):  # type: ignore[misc]
    locktype = staticmethod(lambda: meshlock.Lock(next(names), client))


class RLockTests(Patient, lock_tests.RLockTests):  # type: ignore[misc]
    locktype = staticmethod(lambda: meshlock.RLock(next(names), client))


class SemaphoreTests(Patient, lock_tests.SemaphoreTests):  # type: ignore[misc]
    semtype = staticmethod(lambda value=1: meshlock.Semaphore(next(names), value, client))


class BoundedSemaphoreTests(Patient, lock_tests.BoundedSemaphoreTests):  # type: ignore[misc]
    semtype = staticmethod(lambda value=1: meshlock.BoundedSemaphore(next(names), value, client))


class ConditionTests(Patient, lock_tests.ConditionTests):  # type: ignore[misc]
    condtype = staticmethod(lambda lock=None: meshlock.Condition(lock or meshlock.RLock(next(names), client)))


SUITES = [LockTests, RLockTests, SemaphoreTests, BoundedSemaphoreTests, ConditionTests]
CASES = [f"{suite.__name__}.{name}" for suite in SUITES for name in unittest.TestLoader().getTestCaseNames(suite)]
for suite in SUITES:
    suite.__test__ = False  # collected below, with the table


@pytest.fixture(scope="module", autouse=True)
def connected(mesh: Mesh) -> Iterator[None]:
    """The threads of the client are there before a test counts threads."""
    global node, client
    node = mesh.nodes[0]
    client = node.client()
    client.acquire("cpython-warm").release()
    yield
    client.close()


def run(case: str) -> unittest.TestResult:
    suite, _, name = case.partition(".")
    result = unittest.TestResult()
    with warnings.catch_warnings():
        # CPython's tests drop locks that are held, which we warn of.
        warnings.simplefilter("ignore", ResourceWarning)
        globals()[suite](name).run(result)
    return result


@pytest.mark.parametrize("case", CASES)
def test_cpython(case: str) -> None:
    result = run(case)
    told = "".join(text for _, text in [*result.errors, *result.failures])
    if case in EXCLUDED:
        assert told, f"{case} passes: take it out of the table"
    else:
        assert result.wasSuccessful() and result.testsRun == 1 and not result.skipped, told or result.skipped


def test_the_table_names_tests_that_exist() -> None:
    assert sys.version_info < (3, 11) or set(EXCLUDED) <= set(CASES)  # older ones have fewer
    assert len(CASES) > 50
