"""Where a Job's workers ran: by their numbers, of this JobSet, of pods that stay; and whose end counts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks import job
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.observed import Log, Pod
from sync_hooks.api.sync import Result
from sync_hooks.execution.blame import failures, log_read
from sync_hooks.execution.job_places import note_places
from tests.support.hooks import NOW, STAMP, condition, failed_pod, pod, reads, request
from tests.sync_hooks.test_job import (
    ATTEMPT,
    FRESH,
    JOBSET,
    NOTICED,
    PODS,
    SPEC,
    jobset,
    parent,
    reason,
    states,
    sync,
    train_job,
)

COMPLETE = train_job(condition("Complete"))
FAILED = train_job(condition("Failed", reason="FailedJobs"))
LAUNCHER = failed_pod(f"{ATTEMPT}-launcher-0-0-x", "n1", role="launcher")
SAID = {log_read(failures([LAUNCHER])[0]): Log(content=NOTICED.encode())}


def worker(number: int, node: str, *, going: bool = False, made: str = STAMP, **more: Any) -> Pod:
    plain = msgspec.to_builtins(pod(f"w{number}-{node}", node=node, **more))
    plain["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = str(number)
    times = {"creationTimestamp": made, **({"deletionTimestamp": STAMP} if going else {})}
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], **times}}, Pod)


def unpinned(status: dict[str, Any]) -> dict[str, Any]:
    made = parent(status)
    made["metadata"]["annotations"] = {}
    return made


def blamed(answer: Result) -> tuple[str, list[str]]:
    return answer.status["attribution"], [item["name"] for item in answer.status["failedNodes"]]


LATER = "2026-01-01T12:00:09Z"
BOTH = (worker(0, "n2"), worker(1, "n1"))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(BOTH, ["n2", "n1"], id="all of them"),
        pytest.param((worker(1, "n1"),), None, id="the first one is gone"),
        pytest.param((worker(0, "n2"),), None, id="the last one is gone"),
        pytest.param((worker(0, "n2"), worker(1, "")), None, id="one has no node"),
        pytest.param((worker(0, "n2"), worker(0, "n1")), None, id="one number twice and the other not at all"),
        pytest.param((*BOTH, worker(2, "n3")), None, id="more than there are to be"),
        pytest.param((*BOTH, worker(0, "n3", made=LATER)), ["n3", "n1"], id="a later pod of one number"),
        pytest.param((*BOTH, worker(0, "n3", made=LATER, phase="Failed")), ["n3", "n1"], id="a later one that failed"),
        pytest.param((*BOTH, worker(0, "n3", phase="Failed")), ["n2", "n1"], id="of two of an age the living one"),
        pytest.param((*BOTH, worker(0, "n3", role="watcher")), ["n2", "n1"], id="pods of another replicatedJob"),
        pytest.param((worker(0, "n2"), worker(1, "n1", going=True)), ["n2", "n1"], id="JobSet removes one"),
        pytest.param((worker(0, "n2", going=True), worker(1, "n1", going=True)), None, id="all are being deleted"),
    ],
)
def test_places_are_known_when_each_number_of_a_worker_is_there(pods, expected):
    assert note_places(JobSpec.model_validate(SPEC), JobStatus(), pods).nodes == expected


@pytest.mark.parametrize(("numbers", "known"), [((0, 1, 2), True), ((0, 2), False), ((1, 2), False)])
def test_where_nobody_says_how_many_workers_there_are_no_number_may_be_missing(numbers, known):
    spec = JobSpec.model_validate({"workload": {"trainJob": {}}})
    pods = tuple(worker(number, f"n{number}") for number in numbers)
    assert (note_places(spec, JobStatus(), pods).nodes is not None) is known


def test_no_node_is_blamed_by_the_number_of_a_worker_where_others_are_gone_already():
    world = {JOBSET: jobset(), FRESH: (LAUNCHER, worker(0, "n1", going=True)), **SAID}
    answer = sync(parent(), [FAILED], world)
    assert blamed(answer) == ("Group", ["n1", "n2"])
    itself = sync(parent(), [FAILED], world | {FRESH: (LAUNCHER, worker(1, "n1", going=True))})
    assert blamed(itself) == ("Node", ["n1"])  # the worker that mpirun names is still there


BEFORE = {"attempt": 0, "workloadStartTime": STAMP, "nodes": ["n1", "n2"], "jobSetUID": "uid-before"}


def test_the_places_of_an_earlier_jobset_blame_no_node_of_the_one_that_failed():
    answer = sync(parent(BEFORE), [FAILED], {JOBSET: jobset(), FRESH: (LAUNCHER,), **SAID})
    assert blamed(answer) == ("Group", ["n1", "n2"])
    known = sync(parent(BEFORE), [FAILED], {JOBSET: jobset(), FRESH: (LAUNCHER, *BOTH), **SAID})
    assert blamed(known) == ("Node", ["n1"])


def test_where_another_jobset_ran_is_looked_up_before_its_end_counts():
    wanted = reads(job.sync(request(unpinned(BEFORE), [COMPLETE]), {JOBSET: jobset()}, NOW))
    assert set(wanted) == {JOBSET, FRESH}
    done = (worker(0, "n3", phase="Succeeded"), worker(1, "n4", phase="Succeeded"))
    answer = sync(unpinned(BEFORE), [COMPLETE], {JOBSET: jobset(), FRESH: done})
    assert (answer.status["nodes"], answer.status["jobSetUID"]) == (["n3", "n4"], "uid-jobset")


def test_pods_of_a_jobset_made_anew_do_not_tell_who_failed_the_one_before():
    late = {"conditions": [condition("Failed", reason="JobTimedOut")], **BEFORE}
    stuck = (worker(0, "n1"), worker(1, "n2", phase="Pending"))
    assert blamed(sync(parent(late), [train_job()], {JOBSET: jobset(), FRESH: stuck})) == ("Group", ["n1", "n2"])


def test_pods_from_before_a_suspension_start_no_clock():
    going = (worker(0, "n1", going=True), worker(1, "n2", going=True))
    resumed = sync(parent({"attempt": 0}), [train_job()], {JOBSET: jobset(), PODS: going})
    assert "workloadStartTime" not in resumed.status
    assert resumed.status["waiting"]["reason"] == "WorkloadStarting"
    new = tuple(worker(number, f"n{number}", startTime=LATER, made=LATER) for number in (3, 4))
    mixed = sync(parent(resumed.status), [train_job()], {JOBSET: jobset(), PODS: (*going, *new)}, 10)
    assert mixed.status["workloadStartTime"] == LATER


def test_a_foreign_jobset_is_waited_for_and_then_given_up():
    foreign = {JOBSET: jobset("uid-somebody-else"), FRESH: ()}
    first = sync(parent(), [COMPLETE], foreign)
    late = sync(parent(first.status), [COMPLETE], foreign, 301)
    assert states(late)["InProgress"] == "True"
    over = sync(parent(late.status), [COMPLETE], foreign, 332)
    assert reason(over, "Failed") == "WorkloadCreationError"


def test_a_workload_that_is_called_complete_and_was_nowhere_has_not_passed():
    answer = sync(parent(), [COMPLETE], {JOBSET: None, FRESH: ()})
    assert reason(answer, "Failed") == "WorkloadDeleted"
    seen = parent({"attempt": 0, "workloadStartTime": STAMP, "nodes": ["n1", "n2"]})
    assert states(sync(seen, [COMPLETE], {JOBSET: None, FRESH: ()}))["Succeeded"] == "True"
