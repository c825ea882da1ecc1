"""How tests are shared between workers: a file at a time, but all that share a control plane on one worker."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# A loaded machine is no fault of a test: no time limits. In CI the examples are the same at every run.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("house")

TOGETHER = ("tests/cluster/chart/", "tests/cluster/")  # the chart's tests have a control plane of their own


class OneControlPlane(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Not xdist's own groups: they are marked in test IDs, which pytest 9.2 no longer lets it change."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneControlPlane:
    """Answer xdist, whatever its option --dist says."""
    return OneControlPlane(config, log)
