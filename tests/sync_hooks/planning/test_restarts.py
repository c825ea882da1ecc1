"""Warnings of what would start pods again: a flaky node is then masked, not seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.planned import planned
from tests.support.runs import run_spec

AGAIN = "an override lets pods start again, so that a node that fails now and then may pass: "


def overriding(**job_set: Any) -> Any:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "demo-runtime"},
        "spec": {"template": {"spec": job_set}},
    }
    return run_spec(overrides=[{"dependencies": [runtime]}])


def of_job(spec: dict[str, Any], name: str = "node") -> dict[str, Any]:
    return {"replicatedJobs": [{"name": name, "template": {"spec": spec}}]}


@pytest.mark.parametrize(
    ("job_set", "said"),
    [
        pytest.param({"failurePolicy": {"maxRestarts": 3}}, "failurePolicy.maxRestarts is 3", id="JobSet"),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "again", "action": "RestartJobSetAndIgnoreMaxRestarts"}]}},
            "failurePolicy restarts without a limit",
            id="rule of the JobSet",
        ),
        pytest.param(of_job({"backoffLimit": 6}), "backoffLimit of replicatedJob node is 6", id="Job"),
        pytest.param(
            of_job({"template": {"spec": {"restartPolicy": "OnFailure"}}}),
            "restartPolicy of replicatedJob node is OnFailure",
            id="pod",
        ),
        pytest.param(
            of_job({"template": {"spec": {"containers": [{"name": "more", "image": "i"}]}}}, "more"),
            "backoffLimit of replicatedJob more is 6, restartPolicy of replicatedJob more is OnFailure",
            id="a replicatedJob of one's own that says nothing",
        ),
    ],
)
def test_an_override_that_lets_pods_start_again_is_warned_of(job_set: dict[str, Any], said: str):
    assert planned(overriding(**job_set)).warnings == (AGAIN + said,)


def test_an_override_that_leaves_pods_to_fail_at_once_is_not():
    kept = {"failurePolicy": {"maxRestarts": 0}, **of_job({"backoffLimit": 0})}
    assert planned(overriding(**kept)).warnings == ()
