from __future__ import annotations

from collections.abc import Iterator

import pytest
from nodes import Mesh, Node

import meshlock


@pytest.fixture(autouse=True)
def no_node_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a node by accident."""
    for name in ("MESHLOCK_URL", "MESHLOCK_TOKEN_FILE", "MESHLOCK_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("meshlock.client._default", None)


@pytest.fixture(scope="session")
def mesh() -> Iterator[Mesh]:
    """Two nodes; tests use names of their own."""
    made = Mesh(["ann", "bob"], tcp=True)
    yield made
    made.close()


@pytest.fixture
def ann(mesh: Mesh) -> Node:
    return mesh.nodes[0]


@pytest.fixture
def bob(mesh: Mesh) -> Node:
    return mesh.nodes[1]


@pytest.fixture
def client(ann: Node) -> Iterator[meshlock.Client]:
    with ann.client() as made:
        yield made


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A resource of this test alone."""
    return "".join(c if c.isalnum() else "-" for c in request.node.name)[:100]
