"""Fixtures of the tests that install the chart: both versions of Helm, and releases that go when a test ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import build
from tests.cluster.cluster import Cluster
from tests.cluster.release import NAME, Release


@pytest.fixture(scope="session")
def helms(pytestconfig: pytest.Config) -> Path:
    """Return the folder of both versions of Helm."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return build.ensure(["chart"], say=lambda line: print(line, file=sys.stderr)) / "bin"
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(params=["helm3", "helm4"])
def release(cluster: Cluster, helms: Path, request: pytest.FixtureRequest) -> Iterator[Release]:
    """Return a release by one version of Helm, and then by the other."""
    with _uninstalled(Release(cluster, helms / request.param)) as found:
        yield found


@pytest.fixture
def release3(cluster: Cluster, helms: Path) -> Iterator[Release]:
    """Return a release for what does not depend on the version of Helm."""
    with _uninstalled(Release(cluster, helms / "helm3")) as found:
        yield found


@contextmanager
def _uninstalled(release: Release) -> Iterator[Release]:
    """Hand out a release that is not installed, whatever other tests have left, and uninstall it afterwards."""
    everywhere = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
    for kind in everywhere:
        release.cluster.kubectl("delete", kind, NAME, "--ignore-not-found")
    release.cluster.kubectl("delete", "compositecontrollers", "--all")
    try:
        yield release
    finally:
        release.uninstall()
