"""Both versions of Helm, built from Go modules like the control plane; where that cannot be, its tests are skipped."""

from __future__ import annotations

import os
import sys

import pytest

from tests.charts.helm import Helm, Object
from tests.cluster import build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Helm as what needs Go."""
    for item in items:
        if "helm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", params=["helm3", "helm4"])
def helm(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Helm:
    """Return one version of Helm, and then the other."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            folder = build.ensure(["chart"], say=lambda line: print(line, file=sys.stderr))
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    return Helm(folder / "bin" / request.param)


@pytest.fixture(scope="session")
def rendered(helm: Helm) -> list[Object]:
    """Return what the chart renders with its own values."""
    return helm.render()
