"""The product runs once for all tests of this folder; each test has a namespace of its own and the nodes to itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import build
from tests.cluster.product import Product, running
from tests.support.kubectl import Kubectl


@pytest.fixture(scope="session")
def product(control_plane: Path) -> Iterator[Product]:
    """Return the running product."""
    program = str(build.tools_folder() / "bin" / "kubectl")
    with running(control_plane, Kubectl(control_plane / "kubeconfig", program)) as product:
        yield product
