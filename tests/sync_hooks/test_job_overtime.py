"""mpirun's own time limit ends a launcher with 124 when nobody looked in time: that is a time-out as well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.hooks import STAMP, condition, failed_pod
from tests.sync_hooks.test_job import FRESH, JOBSET, SPEC, jobset, parent, reason, states, sync, train_job
from tests.sync_hooks.test_job_endings import CHECKPOINT, goodput

AFTER, BEFORE = "2026-01-01T13:01:05Z", "2026-01-01T12:59:58Z"
OURS = {"command": ["timeout", "3660", "/usr/bin/mpirun"], "args": ["-np", "16", "app"]}
FOLDED = {"command": ["/bin/bash", "-c"], "args": ["ulimit -l\nexec timeout 3660 /usr/bin/mpirun -np 16 app"]}


def ended(trainer: dict[str, Any], code: int = 124, role: str = "launcher", at: str = AFTER, **spec: Any):
    workload = {"trainJob": {**SPEC["workload"]["trainJob"], "trainer": trainer}}  # type: ignore[index]
    started = {"attempt": 0, "nodes": ["n1", "n2"], "workloadStartTime": STAMP, "workloadPhase": "Running"}
    failed = train_job(condition("Failed", reason="FailedJobs", at=at))
    pods = (failed_pod("l", "n1", code, role=role, at=at),)
    children = [failed, goodput(lastCheckpointStep=20)]
    job = parent(started, workload=workload, **spec)
    return sync(job, children, {JOBSET: jobset(), FRESH: pods}, seconds=3700)


@pytest.mark.parametrize(
    ("trainer", "changes", "expected"),
    [
        pytest.param(OURS, {}, "JobTimedOut", id="by our limit"),
        pytest.param(FOLDED, {}, "JobTimedOut", id="by our limit in a script"),
        pytest.param(OURS, {"code": 1}, "WorkloadFailed", id="with another code"),
        pytest.param(OURS, {"role": "node"}, "WorkloadFailed", id="a worker"),
        pytest.param(OURS, {"at": BEFORE}, "WorkloadFailed", id="before its time was over"),
        pytest.param({"command": ["mpirun"], "args": ["app"]}, {}, "WorkloadFailed", id="without a limit of ours"),
        pytest.param({}, {}, "WorkloadFailed", id="with the image's own command"),
    ],
)
def test_a_launcher_that_its_own_time_limit_ended_has_timed_out(
    trainer: dict[str, Any], changes: dict[str, Any], expected: str
):
    assert reason(ended(trainer, **changes), "Failed") == expected


def test_a_workload_that_timed_out_so_says_how_long_it_may_run_and_blames_as_others_do():
    answer = ended(OURS)
    [text] = [item["message"] for item in answer.status["conditions"] if item["type"] == "Failed"]
    assert text.startswith("the workload ran longer than 1h: FailedJobs: ; the failure could not be attributed")
    assert answer.status["attribution"] == "Group"


def test_a_workload_that_timed_out_so_is_not_restarted_from_a_checkpoint():
    assert states(ended(OURS, **CHECKPOINT))["Failed"] == "True"
    assert states(ended(OURS, code=1, **CHECKPOINT))["InProgress"] == "True"
