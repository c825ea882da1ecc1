"""One real cluster for all tests of this folder, with the product on it; a test has a namespace of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import sandbox
from tests.e2e.installed import Product, installed
from tests.e2e.real import RealCluster, start_cluster, stop_cluster

_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def real() -> Iterator[RealCluster]:
    """Return the running cluster."""
    if sandbox.FOLDER not in os.environ:
        pytest.skip("real nodes are only started in a sandbox: make e2e")
    folder = Path(os.environ[sandbox.FOLDER])
    try:
        yield start_cluster(folder, os.environ[sandbox.GROUP])
    finally:
        stop_cluster(folder)


@pytest.fixture(scope="session")
def product(real: RealCluster) -> Iterator[Product]:
    """Return the product, installed by its chart."""
    with installed(real) as product:
        yield product


@pytest.fixture
def cluster(real: RealCluster, product: Product) -> Iterator[Cluster]:
    """Return a view of the cluster with a namespace of its own, which is removed afterwards with its pods."""
    kubectl = replace(real.kubectl, namespace=f"test-{next(_numbers)}")
    kubectl("create", "namespace", kubectl.namespace)
    yield Cluster(real.run.folder, kubectl)
    kubectl("delete", "namespace", kubectl.namespace, "--timeout=120s")
