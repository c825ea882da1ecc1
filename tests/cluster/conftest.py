"""One control plane a test run, one `Cluster` a test; the tests of this folder run one by one, on one worker."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import build, controlplane
from tests.cluster.cluster import Cluster
from tests.support.kubectl import Kubectl

HERE = Path(__file__).parent
START_SECONDS = 120  # usual: 12; more than that on a busy machine, never this
_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[Path]:
    """Return the run folder of a control plane that is stopped when this process ends, however it ends."""
    _tools(pytestconfig)
    runs = build.cache_folder() / "runs"
    controlplane.sweep(runs)
    folder = runs / f"{os.getpid()}-{time.time_ns()}"
    folder.mkdir(parents=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.controlplane", "serve", str(folder)],
        cwd=HERE.parents[1],
        stdin=subprocess.PIPE,  # only this process holds the other end: when it dies, the server stops
        start_new_session=True,
    )
    try:
        _wait_for_start(server, folder)
        yield folder
    finally:
        server.communicate()
        if not os.environ.get("CLUSTER_KEEP"):
            controlplane.sweep(runs)


@pytest.fixture
def cluster(control_plane: Path) -> Iterator[Cluster]:
    """Return this test's own view of the control plane, cleaned up afterwards."""
    program = str(build.tools_folder() / "bin" / "kubectl")
    kubectl = Kubectl(control_plane / "kubeconfig", program, namespace=f"test-{next(_numbers)}")
    kubectl("create", "namespace", kubectl.namespace)
    view = Cluster(control_plane, kubectl)
    yield view
    view.clean()


def _tools(config: pytest.Config) -> None:
    """Build what is missing, in sight; where that cannot be, skip, or in CI fail, with the reason."""
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            build.ensure(say=lambda line: print(line, file=sys.stderr))
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def _wait_for_start(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not (folder / controlplane.READY).exists():
        if server.poll() is not None or time.monotonic() > deadline:
            error = folder / "error"
            pytest.fail(error.read_text() if error.exists() else f"no control plane; see {folder}", pytrace=False)
        time.sleep(0.1)
