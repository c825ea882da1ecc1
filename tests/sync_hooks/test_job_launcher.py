"""How a Job of MPI begins and is given up: its launcher is made once all workers are ready, and then runs them all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Condition, Pod
from sync_hooks.api.sync import Read
from tests.support.hooks import STAMP, condition, failed_pod, pod
from tests.sync_hooks.test_job import FRESH, JOBSET, PODS, jobset, parent, reason, sync, train_job
from tests.sync_hooks.test_job_start import MPI, creating, looks, running

AFTER_A_SECOND_LOOK = (0, 3601, 3632, 3633)


def with_readiness(found: Pod, status: str) -> Pod:
    told = msgspec.convert(condition("Ready", status), Condition)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, conditions=(told,)))


UNREADY = [
    pytest.param(("True", "False"), "Node", ["n2"], id="one is not ready"),
    pytest.param(("False", "False"), "None", [], id="none is: it is the image's fault, or the run's own"),
    pytest.param(("True", "True"), "None", [], id="all are: nobody made the launcher"),
]


@pytest.mark.parametrize(("states", "attribution", "blamed"), UNREADY)
def test_a_launcher_that_is_not_made_in_time_is_blamed_on_the_workers_that_are_not_ready(
    states: tuple[str, str], attribution: str, blamed: list[str]
) -> None:
    workers = (running("a", "n1"), running("b", "n2"))
    pods = tuple(map(with_readiness, workers, states))
    found = looks(pods, *AFTER_A_SECOND_LOOK, **MPI)
    assert (reason(found, "Failed"), found.status["attribution"]) == ("JobTimedOut", attribution)
    assert [item["name"] for item in found.status.get("failedNodes", ())] == blamed


def test_where_a_launcher_has_run_its_workers_were_there() -> None:
    ended = {"terminated": {"exitCode": 0, "startedAt": STAMP, "finishedAt": STAMP}}
    statuses = [{"name": "node", "state": ended}]
    launcher = pod("l", node="n1", role="launcher", phase="Succeeded", containerStatuses=statuses)
    found = looks((launcher,), 10, **MPI)
    assert (found.status["workloadPhase"], found.status["waiting"]["reason"]) == ("Running", "CompletionPending")


def test_a_worker_beside_a_launcher_that_is_a_node_itself_fails_for_itself() -> None:
    begun = looks((running("l", "n1", role="launcher"), running("a", "n2")), 0, 60, 1800, **MPI)
    failed = failed_pod("a", "n2", at="2026-01-01T12:30:10Z")
    over = train_job(condition("Failed", at="2026-01-01T12:30:12Z"))
    pods = (running("l", "n1", role="launcher"), failed)
    world: dict[Read, Any] = {JOBSET: jobset(), PODS: pods, FRESH: pods}
    found = sync(parent(dict(begun.status), **MPI), [over], world, 1815)
    assert [item["name"] for item in found.status["failedNodes"]] == ["n2"]


@pytest.mark.parametrize("step", [10, 20, 30, 60])
def test_a_wait_ends_however_often_its_reason_changes(step: int) -> None:
    status: dict[str, Any] = {}
    for look, at in enumerate([0, *range(3601, 3701, step)]):
        why = "CrashLoopBackOff" if look % 2 else "ContainerCreating"
        pods = (running("a", "n1"), creating("b", "n2", why))
        found = looks(pods, at, status=status or None, timeout="1h")
        status = dict(found.status)
        if status["workloadPhase"] == "Failed":
            break
    assert reason(found, "Failed") == "JobTimedOut"


def test_a_node_whose_clock_is_ahead_lengthens_no_wait() -> None:
    ahead = {"startTime": "2026-01-02T12:00:00Z", "conditions": [condition("PodScheduled", at=STAMP)]}
    statuses = [{"name": "node", "state": {"waiting": {"reason": "CreateContainerError"}}}]
    stuck = pod("b", node="n2", phase="Pending", containerStatuses=statuses, **ahead)
    found = looks((running("a", "n1"), stuck), 0, 3601, 3632, timeout="1h")
    assert reason(found, "Failed") == "JobTimedOut"
