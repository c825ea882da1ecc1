"""What is remarked of a Job whose workload succeeded after something in it was started again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Pod
from tests.support.hooks import condition, failed_pod, pod
from tests.sync_hooks.test_job import FRESH, JOBSET, jobset, parent, states, sync, train_job

PLACED = {"workloadStartTime": "2026-01-01T12:00:00Z", "nodes": ["n1", "n2"], "jobSetUID": "uid-jobset", "attempt": 0}


def of(made: Pod, index: int, restart: int = 0) -> Pod:
    named = {"batch.kubernetes.io/job-completion-index": str(index)}
    labels = {**made.labels, **named, "jobset.sigs.k8s.io/restart-attempt": str(restart)}
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, labels=labels))


def done(name: str, node: str, restarts: int = 0, jobset_uid: str = "uid-jobset") -> Pod:
    statuses = [{"name": "node", "restartCount": restarts, "state": {"terminated": {"exitCode": 0}}}]
    return pod(name, node=node, jobset_uid=jobset_uid, phase="Succeeded", containerStatuses=statuses)


def after(pods: tuple[Pod, ...], end: str = "Complete") -> Any:
    ended = train_job(condition(end, at="2026-01-01T12:03:30Z"))
    return sync(parent(PLACED), [ended], {JOBSET: jobset(), FRESH: pods}, seconds=215)


@pytest.mark.parametrize(
    ("pods", "remarks"),
    [
        pytest.param((of(done("a", "n1"), 0), of(done("b", "n2"), 1)), None, id="nothing"),
        pytest.param(
            (of(done("a", "n1"), 0, 1), of(done("b", "n2"), 1, 1)),
            ["JobSet restarted the workload once"],
            id="the JobSet",
        ),
        pytest.param(
            (of(done("a", "n1"), 0), of(done("b", "n2", 3), 1)),
            ["container node of pod b on node n2 was restarted 3 times"],
            id="a container",
        ),
        pytest.param(
            (of(done("a", "n1"), 0), of(failed_pod("b", "n2"), 1), of(done("c", "n3"), 1)),
            ["pod b on node n2 failed, and another took its place"],
            id="a pod",
        ),
        pytest.param(
            (of(done("a", "n1"), 0), of(failed_pod("b", "n2"), 1)), None, id="a worker that JobSet has stopped"
        ),
        pytest.param(
            (of(done("a", "n1"), 0), of(done("b", "n2", 3, "uid-other"), 1)), None, id="a pod of another JobSet"
        ),
        pytest.param(
            tuple(of(done(f"p{index}", "n1", 1), index) for index in range(7)),
            [*(f"container node of pod p{index} on node n1 was restarted once" for index in range(5)), "and 2 more"],
            id="many containers",
        ),
    ],
)
def test_what_a_workload_got_over_on_its_own_is_remarked(pods: tuple[Pod, ...], remarks: list[str] | None):
    answer = after(pods)
    assert states(answer)["Succeeded"] == "True"
    assert answer.status["settled"] is True
    assert answer.status.get("remarks") == remarks


def test_a_workload_that_failed_in_spite_of_it_is_not_remarked_on():
    answer = after((of(done("a", "n1"), 0, 1), of(failed_pod("b", "n2"), 1, 1)), "Failed")
    assert states(answer)["Failed"] == "True"
    assert "remarks" not in answer.status
