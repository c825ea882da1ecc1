"""In the simulated cluster our webhook reviews every object of our kinds, as in a real one."""

from __future__ import annotations

import pytest

from cli.hooking import install_admission
from cli.simulator.errors import Invalid
from cli.simulator.store import Store
from tests.support.planned import planned, rendered_job


@pytest.fixture
def store() -> Store:
    store = Store(lambda: "2026-01-01T00:00:00Z")
    install_admission(store)
    return store


def test_a_job_that_a_hook_makes_is_reviewed(store: Store) -> None:
    job = rendered_job(planned())
    bad = {**job, "metadata": {**job["metadata"], "name": "bad"}, "spec": {**job["spec"], "timeout": "abc"}}
    assert store.create(job, actor="metacontroller").obj["spec"] == job["spec"]
    with pytest.raises(Invalid, match=r"denied the request.*spec\.timeout"):
        store.create(bad, actor="metacontroller")


def test_a_run_gets_its_defaults_and_keeps_its_spec(store: Store) -> None:
    spec = {"image": "img", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}}
    run = {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "WorkloadRun",
        "metadata": {"name": "run", "namespace": "default"},
        "spec": spec,
    }
    stored = store.create(run)
    assert stored.obj["spec"]["orchestration"] == {"timeoutPerJob": "24h"}
    with pytest.raises(Invalid, match="numNodes"):
        store.update({**stored.obj, "spec": {**stored.obj["spec"], "numNodes": 3}})
