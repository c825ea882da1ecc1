"""A control plane of their own for tests that install the chart: what it installs is the cluster's, once.

Both versions of Helm are built like the control plane; where that cannot be, these tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import build, controlplane
from tests.cluster.chart.played import Installed, played
from tests.cluster.chart.release import Release
from tests.cluster.cluster import Cluster

ROOT = Path(__file__).parents[3]
START_SECONDS = 120


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests of this folder on one worker."""
    item.add_marker(pytest.mark.xdist_group("chart"))


@pytest.fixture(scope="package")
def tools(pytestconfig: pytest.Config) -> Path:
    """Return the folder of all programs, both versions of Helm among them."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return build.ensure(["test", "chart"], say=lambda line: print(line, file=sys.stderr)) / "bin"
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="package")
def control_plane(tools: Path) -> Iterator[Path]:
    """Return the run folder of a control plane for these tests alone; it ends with the process that holds its pipe."""
    folder = build.cache_folder() / "runs" / f"{os.getpid()}-{time.time_ns()}"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.cluster.controlplane", "serve", str(folder)]
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (folder / controlplane.READY).exists():
            if server.poll() is not None or time.monotonic() > deadline:
                error = folder / "error"
                pytest.fail(error.read_text() if error.exists() else f"no control plane; see {folder}", pytrace=False)
            time.sleep(0.1)
        yield folder
    finally:
        server.communicate()
        controlplane.sweep(folder.parent)


@pytest.fixture(params=["helm3", "helm4"])
def release(cluster: Cluster, tools: Path, request: pytest.FixtureRequest) -> Iterator[Release]:
    """Return a release by one version of Helm, and then by the other."""
    with _uninstalled_afterwards(Release(cluster, tools / request.param)) as found:
        yield found


@pytest.fixture
def release3(cluster: Cluster, tools: Path) -> Iterator[Release]:
    """Return a release for what does not depend on the version of Helm."""
    with _uninstalled_afterwards(Release(cluster, tools / "helm3")) as found:
        yield found


@pytest.fixture
def installed(release3: Release, tmp_path: Path) -> Iterator[Installed]:
    """Return the chart as a release whose pods a test plays."""
    with played(release3, tmp_path) as found:
        yield found


@contextmanager
def _uninstalled_afterwards(release: Release) -> Iterator[Release]:
    try:
        yield release
    finally:
        release.uninstall()
