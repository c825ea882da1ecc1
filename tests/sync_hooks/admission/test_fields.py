"""Fields of Kubernetes' own types that a run takes over: what the API server refuses later is refused at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sync_hooks.admission.admit import admit
from tests.sync_hooks.admission.cases import manifest

TABLE = yaml.safe_load(Path(__file__).with_name("fields.yaml").read_text("utf-8"))
VOLUMES = [
    {"name": "v", "emptyDir": {}},
    {"name": "disk", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "other", "persistentVolumeClaim": {"claimName": "d"}},
]
PLACES = {
    "init": "spec.initContainers[0]",
    "mount": "spec.volumeMounts[0]",
    "variable": "spec.env[0]",
    "volume": "spec.volumes[3]",
}


ROWS = [
    pytest.param(kind, row, id=f"{kind}-{number}-{row['at']}")
    for kind, listed in TABLE.items()
    for number, row in enumerate(listed)
]


def run(kind: str, fragment: dict[str, Any]) -> dict[str, Any]:
    added = {
        "init": {"initContainers": [{"name": "i", "image": "a", **fragment}]},
        "mount": {"volumeMounts": [{"name": "v", "mountPath": "/v", **fragment}]},
        "variable": {"env": [{"name": "A", **fragment}]},
        "volume": {},
    }
    extra = [{"name": "x", **fragment}] if kind == "volume" else []
    return manifest("WorkloadRun", {"volumes": [*VOLUMES, *extra], **added[kind]})


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_what_the_api_server_takes_is_admitted(kind: str, row: dict[str, Any]) -> None:
    assert admit(run(kind, row["ok"])).errors == ()


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_what_the_api_server_would_refuse_of_the_pods_is_refused_at_its_field(kind: str, row: dict[str, Any]) -> None:
    assert [error.field for error in admit(run(kind, row["bad"])).errors] == [f"{PLACES[kind]}.{row['at']}"]


def test_what_overrides_may_change_of_a_pod_is_judged_when_the_run_is_planned() -> None:
    pod = {"terminationGracePeriodSeconds": 600}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "run-runtime"},
        "spec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    hook = {"restartPolicy": "Always", "lifecycle": {"preStop": {"sleep": {"seconds": 500}}}}
    changes = {"initContainers": [{"name": "i", "image": "a", **hook}], "overrides": [{"dependencies": [runtime]}]}
    assert admit(manifest("WorkloadRun", changes)).errors == ()
