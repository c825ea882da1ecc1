"""Whose pods a Job looks at: those of the JobSet that its TrainJob owns, told by a UID that is looked up once."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks import job
from sync_hooks.api.observed import Pod
from sync_hooks.api.sync import ListNodes, Read, Reads, Unreadable
from tests.support.hooks import NOW, pod, request
from tests.sync_hooks.test_job import JOBSET, PODS, jobset, parent, sync, train_job
from tests.sync_hooks.test_workflow import node

KNOWN = {"jobSetUID": "uid-jobset", "workloadStartTime": "2026-01-01T00:00:00Z", "nodes": ["n1"]}
NODES_THERE: dict[Read, Any] = {ListNodes(): (node("n1"), node("n2"))}


def told(pods: tuple[Pod, ...], status: dict[str, Any], **world: Any) -> dict[str, Any]:
    """The status after a sync that sees these pods."""
    return dict(sync(parent(status), [train_job()], NODES_THERE | {PODS: pods} | world.get("also", {})).status)


def asks_for_the_jobset(pods: tuple[Pod, ...], status: dict[str, Any]) -> bool:
    """Tell whether a sync that sees these pods wants to know whose they are."""
    answer = job.sync(request(parent(status), [train_job()]), NODES_THERE | {PODS: pods}, NOW)
    return isinstance(answer, Reads) and JOBSET in answer.reads


@pytest.mark.parametrize(
    ("pods", "status", "asked"),
    [
        pytest.param((pod("a", node="n1"),), {}, True, id="the first pods"),
        pytest.param((pod("a", node="n1"),), KNOWN, False, id="pods of the known JobSet"),
        pytest.param((pod("a", node="n1", jobset_uid="other"),), KNOWN, True, id="pods of another JobSet"),
        pytest.param((pod("a", node="n1"), pod("b", jobset_uid="")), KNOWN, True, id="a pod that names none"),
        pytest.param((), KNOWN, False, id="no pods"),
    ],
)
def test_the_jobset_is_read_only_where_pods_are_not_known_to_be_its_own(
    pods: tuple[Pod, ...], status: dict[str, Any], asked: bool
) -> None:
    assert asks_for_the_jobset(pods, status) is asked


def test_the_uid_is_written_down_with_the_first_pods() -> None:
    status = told((pod("a", node="n1"), pod("b", node="n2")), {}, also={JOBSET: jobset()})
    assert status["jobSetUID"] == "uid-jobset"
    assert status["workloadPhase"] == "Running"


def test_pods_of_a_jobset_that_somebody_else_owns_start_no_clock() -> None:
    status = told((pod("a", node="n1"),), {}, also={JOBSET: jobset("uid-of-another-train-job")})
    assert status["workloadPhase"] == "Pending"
    assert "workloadStartTime" not in status
    assert "jobSetUID" not in status


def test_pods_that_only_claim_the_name_are_not_looked_at() -> None:
    forged = pod("forged", node="n9", jobset_uid="uid-guessed")
    status = told((forged, pod("a", node="n1")), KNOWN, also={JOBSET: jobset()})
    assert status["nodes"] == ["n1"]
    assert status["jobSetUID"] == "uid-jobset"


def test_a_jobset_that_trainer_makes_anew_takes_the_place_of_the_first() -> None:
    anew = {JOBSET: jobset()}
    status = told((pod("a", node="n2"),), KNOWN | {"jobSetUID": "uid-before"}, also=anew)
    assert status["jobSetUID"] == "uid-jobset"


def test_where_the_jobset_cannot_be_read_unknown_pods_change_nothing() -> None:
    status = told((pod("a", node="n2", jobset_uid="other"),), KNOWN, also={JOBSET: Unreadable("timeout")})
    assert status["nodes"] == ["n1"]


def test_which_pod_is_not_started_is_said_only_once_it_takes_long() -> None:
    late = (pod("a", node="n1", startTime=None), pod("b", node="n2"))
    world = NODES_THERE | {PODS: late, JOBSET: jobset()}
    first = sync(parent(), [train_job()], world)
    assert first.status["waiting"]["message"] == "the pods are being made and started"
    again = sync(parent(first.status), [train_job()], world | {PODS: (late[0],)}, seconds=15)
    assert again.status["waiting"] == first.status["waiting"]
    later = sync(parent(first.status), [train_job()], world, seconds=31)
    assert later.status["waiting"]["message"] == "1 of 2 pods are not started, a first"
