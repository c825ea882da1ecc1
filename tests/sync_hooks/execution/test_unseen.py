"""A child that was asked for and is not seen: waited for first, then looked for, then given up with a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sync_hooks.api.observed import LiveObject, Told
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import GetObject, ListEvents, Reads, Unreadable
from sync_hooks.execution.unseen import GivenUp, look_for
from tests.support.hooks import NAMESPACE, NOW, STAMP, live, manifest, owned, request

PARENT = manifest("Workflow", "run")
CHILD = manifest("Job", "run-g0-i1")
JOB = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", NAMESPACE)
ERRORS = ListEvents(NAMESPACE, "SyncError", "uid-run")
WAITING = Waiting(reason="JobNotSeen", message="", since=STAMP, object="Job/run-g0-i1")
LATE = Waiting(reason="JobNotSeenOverdue", message="", since=STAMP, object="Job/run-g0-i1")
LEFT = owned(CHILD, manifest("Workflow", "run", uid="uid-of-before"))
GOING = {"metadata": {"deletionTimestamp": STAMP, "finalizers": ["x/hold"]}}


def looked(old: Waiting | None, seconds: float, found: LiveObject | Unreadable | None = None, errors: Any = ()) -> Any:
    observed = {JOB: found, ERRORS: errors}
    return look_for(request(PARENT), old, CHILD, observed, NOW + timedelta(seconds=seconds))


def test_a_child_that_was_just_asked_for_is_not_looked_for():
    first = look_for(request(PARENT), None, CHILD, {}, NOW)
    assert isinstance(first, Waiting)
    assert (first.reason, first.object, first.since) == (WAITING.reason, WAITING.object, STAMP)
    assert first.message == "Job run-g0-i1 is being created"
    again = look_for(request(PARENT), first, CHILD, {}, NOW + timedelta(seconds=30))
    assert again == first


def test_after_half_a_minute_it_is_looked_for_live_with_what_the_cluster_says():
    answer = look_for(request(PARENT), WAITING, CHILD, {}, NOW + timedelta(seconds=31))
    assert answer == Reads((JOB, ERRORS))


@pytest.mark.parametrize(
    ("found", "errors", "message"),
    [
        pytest.param(None, (Told("denied"), Told("older")), "cannot be created: denied", id="it cannot be made"),
        pytest.param(None, (), "cannot be created: no error was reported", id="nobody says why"),
        pytest.param(None, Unreadable("403"), "cannot be created: the reason cannot be read: 403", id="no events"),
        pytest.param(Unreadable("timeout"), (), "is not seen and cannot be read: timeout", id="it cannot be read"),
        pytest.param(live(owned(CHILD, PARENT)), (), "is there and not seen yet", id="it is there"),
        pytest.param(live({**CHILD, **GOING}), (), "is being deleted, held by x/hold", id="an earlier one is going"),
        pytest.param(live(LEFT), (), "is left over", id="it is an earlier run's"),
    ],
)
def test_what_keeps_it_is_said_while_it_is_waited_for(found, errors, message: str):
    waiting = looked(WAITING, 31, found, errors)
    assert isinstance(waiting, Waiting)
    assert message in waiting.message
    assert waiting.since == STAMP


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(None, "JobCreationError", id="it cannot be made"),
        pytest.param(live({**CHILD, **GOING}), "JobCreationError", id="an earlier one does not go"),
        pytest.param(live(LEFT), "JobCreationError", id="an earlier run's is not collected"),
        pytest.param(live(owned(CHILD, PARENT)), None, id="it is there"),
        pytest.param(Unreadable("timeout"), None, id="it cannot be read"),
    ],
)
def test_it_is_given_up_after_a_second_look_unless_it_may_be_there(found, reason: str | None):
    assert isinstance(looked(LATE, 29, found), Waiting)
    answer = looked(LATE, 30, found)
    assert (answer.reason if isinstance(answer, GivenUp) else None) == reason
    if reason is None:
        assert isinstance(answer, Waiting)
        assert answer.reason == LATE.reason


def test_the_second_look_is_one():
    assert look_for(request(PARENT), LATE, CHILD, {}, NOW + timedelta(seconds=5)) == Reads((JOB, ERRORS))


def test_one_of_somebody_else_is_given_up_as_soon_as_it_is_seen():
    answer = looked(WAITING, 31, live(CHILD))
    assert isinstance(answer, GivenUp)
    assert answer.reason == "JobNameCollision"


def test_of_one_that_another_run_has_that_run_is_told_and_nobody_is_advised_to_delete_it():
    theirs = owned(CHILD, manifest("Workflow", "nccl-2026-08-23"))
    theirs["metadata"] |= {"labels": {"cre.nvidia.com/workload-run": "nccl-2026-08-23"}}
    answer = looked(WAITING, 31, live(theirs))
    assert isinstance(answer, GivenUp)
    assert answer.reason == "JobNameCollision"
    assert f"belongs to WorkloadRun {NAMESPACE}/nccl-2026-08-23" in answer.message
    assert "delete" not in answer.message
