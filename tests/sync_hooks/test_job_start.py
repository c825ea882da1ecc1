"""When a Job's clock starts: once all its pods are there and their containers run; and what ends a wait for them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Condition, Pod, Told
from sync_hooks.api.sync import ListEvents, Read, Result
from tests.support.hooks import NAMESPACE, STAMP, condition, failed_pod, live, manifest, owned, pod
from tests.sync_hooks.test_job import (
    ATTEMPT,
    FRESH,
    JOBSET,
    PODS,
    TRAIN_JOB,
    jobset,
    parent,
    reason,
    states,
    sync,
    train_job,
)

DAY = 24 * 3600
BEFORE = "2026-01-01T11:59:50Z"  # the TrainJob's creation by a clock that is behind
LATER = "2026-01-01T12:20:00Z"
LAUNCHER_PATCH = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "launcher"}]}}}}
MPI = {
    "workload": {"trainJob": {"runtimeRef": {}, "trainer": {"numNodes": 2}, "runtimePatches": [LAUNCHER_PATCH]}},
    "timeout": "1h",
}


def creating(name: str, node: str, why: str = "ContainerCreating") -> Pod:
    """A pod that has a node, whose container does not run yet."""
    state = {"waiting": {"reason": why}}
    return pod(name, node=node, phase="Pending", containerStatuses=[{"name": "node", "state": state}])


def running(name: str, node: str, since: str = STAMP, made: str = STAMP, role: str = "node") -> Pod:
    """A pod whose container has run since a time by the clock of its node."""
    state = {"running": {"startedAt": since}}
    accepted, statuses = min(since, STAMP), [{"name": "node", "state": state}]
    found = pod(name, node=node, role=role, startTime=accepted, containerStatuses=statuses)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, creation_timestamp=made))


def looks(pods: tuple[Pod, ...], *seconds: float, status: dict[str, Any] | None = None, **spec: Any) -> Result:
    """Look at a Job several times while its pods stay as they are."""
    for at in seconds:
        answer = sync(parent(status, **spec), [train_job()], {JOBSET: jobset(), PODS: pods, FRESH: pods}, at)
        status = dict(answer.status)
    return answer


WAITING = [
    pytest.param((creating("a", "n1"), creating("b", "n2")), "2 of 2 pods are not started, a first: ContainerCreating",
                 id="images are pulled"),
    pytest.param((running("a", "n1"), creating("b", "n2")), "1 of 2 pods are not started, b first: ContainerCreating",
                 id="one is pulled"),
    pytest.param((running("a", "n1"),),
                 "1 of 2 pods exist: others were not made, or quota or PodSecurity refuse them", id="one was not made"),
    pytest.param((running("a", "n1"), pod("b", phase="Pending", startTime=None)),
                 "1 of 2 pods are not started, b first: it has no node yet", id="one has no node"),
]  # fmt: skip


@pytest.mark.parametrize(("pods", "text"), WAITING)
def test_no_clock_runs_while_a_pod_is_not_there_or_not_started_and_which_is_told(pods: tuple[Pod, ...], text: str):
    found = looks(pods, 0, 60)
    assert (found.status["workloadPhase"], "workloadStartTime" in found.status) == ("Pending", False)
    assert found.status["waiting"]["message"] == text


def test_the_clock_starts_when_the_last_container_does_not_when_its_image_is_pulled():
    pulling = looks((creating("a", "n1"), creating("b", "n2")), 0, 1190)
    pods = (running("a", "n1"), running("b", "n2", LATER))
    begun = looks(pods, 1215, status=dict(pulling.status), timeout="10m")
    assert (states(begun)["InProgress"], begun.status["workloadStartTime"]) == ("True", LATER)


def test_mpi_begins_with_its_launcher():
    workers = (running("a", "n1"), running("b", "n2"))
    assert "the launcher does not exist yet" in looks(workers, 0, 60, **MPI).status["waiting"]["message"]
    whole = (*workers, running("l", "n1", LATER, role="launcher"))
    assert looks(whole, 1215, **MPI).status["workloadStartTime"] == LATER


READY = condition("Ready")
REFUSED = "the launcher does not exist although all workers are ready: quota or PodSecurity may refuse it"


@pytest.mark.parametrize(
    ("ready", "text"),
    [(2, REFUSED), (1, "the launcher does not exist yet: it is made when all workers are ready")],
    ids=["all are ready", "one is not"],
)
def test_a_launcher_that_is_not_made_although_all_workers_are_ready_may_be_refused_and_is_waited_for_so_long(
    ready: int, text: str
):
    workers = tuple(
        pod(name, node=node, containerStatuses=[{"name": "node", "state": {"running": {"startedAt": STAMP}}}],
            conditions=[READY] if number < ready else [])
        for number, (name, node) in enumerate([("a", "n1"), ("b", "n2")])
    )  # fmt: skip
    assert looks(workers, 0, 60, **MPI).status["waiting"]["message"] == text
    over = looks(workers, 0, 3601, 3631, 3632, **MPI)
    message = next(item["message"] for item in over.status["conditions"] if item["type"] == "Failed")
    assert (reason(over, "Failed"), over.status["attribution"]) == ("JobTimedOut", "None")
    assert message == f"the workload did not start: {text}"


def test_a_worker_that_fails_before_the_launcher_is_made_has_waited_for_nobody():
    workers = (running("a", "n1"), running("b", "n2"))
    waiting = looks(workers, 0, 90, **MPI)
    failed = failed_pod("b", "n2", at="2026-01-01T12:01:40Z")
    over = train_job(condition("Failed", at="2026-01-01T12:01:42Z"))
    world: dict[Read, Any] = {JOBSET: jobset(), PODS: (failed,), FRESH: (failed,)}
    found = sync(parent(dict(waiting.status), **MPI), [over], world, 105)
    assert [item["name"] for item in found.status["failedNodes"]] == ["n2"]


def test_pods_that_have_ended_before_anybody_looked_have_started():
    found = looks((pod("a", node="n1", phase="Succeeded"), pod("b", node="n2", phase="Failed")), 5)
    assert found.status["workloadStartTime"] == STAMP


def test_a_clock_that_runs_does_not_stop_for_pods_that_vanish():
    begun = looks((running("a", "n1"), running("b", "n2")), 0)
    left = looks((running("a", "n1"),), 60, status=dict(begun.status))
    assert (left.status["workloadPhase"], left.status["workloadStartTime"]) == ("Running", STAMP)
    assert reason(looks((), 3601, status=dict(left.status)), "Failed") == "JobTimedOut"


def test_pods_that_were_there_are_gone_and_not_unmade():
    begun = looks((running("a", "n1"), running("b", "n2")), 0)
    left = looks((), 60, status=dict(begun.status))
    assert left.status["waiting"]["message"].startswith("its pods are gone")


def test_a_snapshot_from_before_a_pod_was_seen_does_not_take_it_away():
    pods = (running("a", "n1"), running("b", "n2"))
    begun = looks(pods, 0)
    older = {JOBSET: jobset(), PODS: (), FRESH: pods}
    assert sync(parent(dict(begun.status)), [train_job()], older, 1).status == begun.status


@pytest.mark.parametrize(
    ("pods", "seconds", "again"),
    [
        pytest.param((), (0,), 31, id="nothing is told of it before"),
        pytest.param((creating("a", "n1"), creating("b", "n2")), (0, 10), 21, id="nor of a pod that is pulled"),
        pytest.param((creating("a", "n1", "ImagePullBackOff"), creating("b", "n2")), (0,), 15, id="held up"),
        pytest.param((), (0, 40), 15, id="late"),
        pytest.param((), (0, 400), 60, id="later"),
    ],
)
def test_a_job_is_looked_at_again_when_there_may_be_news(pods: tuple[Pod, ...], seconds: tuple[int, ...], again: int):
    assert looks(pods, *seconds).resync_after == again


def test_a_node_whose_clock_is_behind_does_not_shorten_the_time():
    early = "2026-01-01T10:00:00Z"
    found = looks((running("a", "n1", early), running("b", "n2", early)), 10, 20)
    assert (states(found)["InProgress"], found.status["workloadStartTime"]) == ("True", STAMP)


GIVEN_UP = [
    pytest.param((creating("a", "n1"), creating("b", "n2")), 3600, "None", [], id="none started: no node is to blame"),
    pytest.param((running("a", "n1"), creating("b", "n2")), 3600, "Node", ["n2"], id="one did not start"),
    pytest.param((creating("a", "n1", "ImagePullBackOff"), creating("b", "n2", "ImagePullBackOff")), 3600, "None", [],
                 id="there is no such image"),
    pytest.param((running("a", "n1"), creating("b", "n2", "CreateContainerError")), 3600, "Node", ["n2"],
                 id="one cannot be started"),
    pytest.param((running("a", "n1"),), DAY, "None", [], id="one was not made: quota is a queue too"),
    pytest.param((), DAY, "None", [], id="none was made"),
]  # fmt: skip


@pytest.mark.parametrize(("pods", "limit", "attribution", "blamed"), GIVEN_UP)
def test_what_never_starts_is_given_up(pods: tuple[Pod, ...], limit: int, attribution: str, blamed: list[str]):
    assert states(looks(pods, 0, limit + 3600))["InProgress"] == "True"  # nobody had looked: it is looked at again
    over = looks(pods, 0, limit + 1, limit + 31, limit + 32)
    message = next(item["message"] for item in over.status["conditions"] if item["type"] == "Failed")
    assert (reason(over, "Failed"), message.split(":")[0]) == ("JobTimedOut", "the workload did not start")
    assert over.status["attribution"] == attribution
    assert [item["name"] for item in over.status.get("failedNodes", [])] == blamed


def test_that_the_reason_changes_makes_no_wait_longer():
    one, other = (creating("a", "n1"), creating("b", "n2")), (creating("a", "n1", "ErrImagePull"), creating("b", "n2"))
    first = looks(one, 0)
    again = looks(other, 1800, status=dict(first.status))
    assert reason(looks(one, 3601, 3631, status=dict(again.status)), "Failed") == "JobTimedOut"


def test_pods_that_wait_for_the_scheduler_are_queued_however_long_and_have_their_time_afterwards():
    queued = looks((pod("a", phase="Pending", startTime=None), pod("b", phase="Pending", startTime=None)), 0, 7 * DAY)
    assert states(queued)["InProgress"] == "True"
    placed = tuple(
        msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, start_time="2026-01-08T12:00:05Z"))
        for item in (creating("a", "n1"), creating("b", "n2"))
    )
    assert states(looks(placed, 7 * DAY + 60, status=dict(queued.status)))["InProgress"] == "True"


# Whose end it is, where clocks differ


def ended_jobset(type_: str, uid: str = f"uid-{ATTEMPT}") -> Any:
    """A JobSet that has ended, by a clock that is behind."""
    status = {"conditions": [condition(type_, at=BEFORE)]}
    made = manifest("JobSet", ATTEMPT, uid="uid-jobset", status=status)
    return live(owned(made, manifest("TrainJob", ATTEMPT, uid=uid)))


DOUBTFUL = [
    pytest.param("Failed", ended_jobset("Failed"), "Failed", id="failed, and its JobSet too"),
    pytest.param("Complete", ended_jobset("Completed"), "Succeeded", id="complete, and its JobSet too"),
    pytest.param("Complete", ended_jobset("Failed"), "InProgress", id="its JobSet ended otherwise"),
    pytest.param("Complete", jobset(), "InProgress", id="its JobSet has not ended"),
    pytest.param("Complete", ended_jobset("Completed", "uid-earlier"), "InProgress", id="the JobSet of an earlier one"),
    pytest.param("Complete", None, "InProgress", id="no JobSet is there"),
]


@pytest.mark.parametrize(("type_", "seen", "expected"), DOUBTFUL)
def test_an_end_that_seems_too_old_counts_where_its_own_jobset_has_ended_so(type_: str, seen: Any, expected: str):
    pods = (running("a", "n1"), running("b", "n2"))
    world: dict[Read, Any] = {JOBSET: seen, PODS: pods, FRESH: pods}
    found = sync(parent(), [train_job(condition(type_, at=BEFORE))], world, 30)
    assert states(found)[expected] == "True"
    if expected != "InProgress":
        assert found.status["workloadEndTime"] == "2026-01-01T12:00:30Z"  # no older than its start


def test_a_jobset_of_somebody_else_is_waited_for_and_then_given_up():
    world: dict[Read, Any] = {JOBSET: jobset("uid-earlier"), PODS: (pod("a", node="n1"),)}
    answer = sync(parent(), [train_job()], world)
    for seconds in (301, 332):
        assert states(answer)["InProgress"] == "True"
        answer = sync(parent(dict(answer.status)), [train_job()], world, seconds)
    assert reason(answer, "Failed") == "WorkloadCreationError"
    assert "failedNodes" not in answer.status


REFUSED = "1 of 2 pods exist: others were not made, or quota or PodSecurity refuse them"
QUOTA = 'pods "x" is forbidden: exceeded quota: gpus'
BROKEN = 'Job.batch "x" is invalid: spec.template.spec.containers[0].image: Required value'


def refused_looks(*seconds: float, pods: tuple[Pod, ...] = (running("a", "n1"),), **told: str) -> Result:
    """Look at a Job whose pods are not made; ``told`` has what events say, by their reason."""
    world: dict[Read, Any] = {JOBSET: jobset(), PODS: pods, FRESH: pods}
    for reason_, words in told.items():
        by_uid = ListEvents(NAMESPACE, reason_, uid="uid-jobset")
        by_name = ListEvents(
            NAMESPACE, reason_, kind="Job", name=f"{ATTEMPT}-{'launcher' if len(pods) > 1 else 'node'}-0"
        )
        world |= {by_uid: (Told(words, STAMP),), by_name: (Told(words, STAMP), Told("older", STAMP))}
    status: dict[str, Any] | None = None
    for at in seconds:
        answer = sync(parent(status, **MPI), [train_job()], world, at)
        status = dict(answer.status)
    return answer


def test_why_pods_are_not_made_is_told_in_the_words_of_who_should_make_them():
    assert refused_looks(0, 31, FailedCreate=QUOTA).status["waiting"]["message"] == f"{REFUSED}: {QUOTA}"
    assert refused_looks(0, 31).status["waiting"]["message"] == REFUSED
    day = refused_looks(0, 31, 3600, 7200, FailedCreate=QUOTA)
    assert states(day)["InProgress"] == "True"  # quota is a queue


def test_what_no_api_server_will_ever_take_is_not_waited_for_a_day():
    assert states(refused_looks(0, 31, 299, JobCreationFailed=BROKEN))["InProgress"] == "True"
    found = refused_looks(0, 31, 301, JobCreationFailed=BROKEN)
    failure = next(item for item in found.status["conditions"] if item["type"] == "Failed")
    assert (failure["reason"], failure["message"]) == ("WorkloadCreationError", BROKEN)


def test_a_launcher_that_is_refused_is_told_of_once_all_workers_are_ready():
    ready, unready = (
        tuple(
            msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, conditions=(told,)))
            for found in (running("a", "n1"), running("b", "n2"))
        )
        for told in (msgspec.convert(condition("Ready", value), Condition) for value in ("True", "False"))
    )
    assert QUOTA in refused_looks(0, 31, pods=ready, FailedCreate=QUOTA).status["waiting"]["message"]
    assert QUOTA not in refused_looks(0, 31, pods=unready, FailedCreate=QUOTA).status["waiting"]["message"]


def beside(name: str, node: str, *, runs: bool = True) -> Pod:
    """A pod whose workload has ended well, and whose sidecar may run on."""
    over = {"terminated": {"exitCode": 0, "startedAt": STAMP, "finishedAt": "2026-01-01T12:05:00Z"}}
    sidecar = {"running": {"startedAt": STAMP}} if runs else over
    statuses = [{"name": "istio-proxy", "state": sidecar}, {"name": "node", "state": over}]
    return pod(name, node=node, phase="Running" if runs else "Succeeded", containerStatuses=statuses)


def test_a_sidecar_that_never_ends_blames_no_node_and_holds_none_for_a_day():
    pods = (beside("a", "n1"), beside("b", "n2"))
    found = looks(pods, 0, 301, 1700)
    waiting = found.status["waiting"]
    told = "all 2 pods ran to the end, and container istio-proxy of pod a still runs beside it"
    assert (waiting["reason"], waiting["message"]) == ("SidecarRunning", told)
    over = looks(pods, 0, 301, 1700, 1801, 1840)
    assert reason(over, "Failed") == "SidecarRunning"
    assert looks(pods, 1850, status=dict(over.status)).status["attribution"] == "None"


def test_a_sidecar_that_ends_in_time_lets_the_workload_succeed():
    found = looks((beside("a", "n1"), beside("b", "n2")), 0, 301, 1700)
    ended = (beside("a", "n1", runs=False), beside("b", "n2", runs=False))
    over = train_job(condition("Complete"))
    world: dict[Read, Any] = {JOBSET: jobset(), PODS: ended, FRESH: ended}
    assert states(sync(parent(dict(found.status)), [over], world, 1710))["Succeeded"] == "True"


NOTHING: dict[Read, Any] = {TRAIN_JOB: None, JOBSET: None}


def test_a_train_job_that_cannot_be_made_is_told_of_after_half_a_minute_and_given_up():
    looked = {ListEvents(NAMESPACE, "SyncError", "uid-run-g0-i1"): (Told(message="denied by a webhook"),)}
    status: dict[str, Any] = {}
    for seconds in (1, 32, 290, 302, 340):
        answer = sync(parent(status), [], NOTHING | looked, seconds)
        status = dict(answer.status)
        if seconds == 32:
            assert "denied by a webhook" in status["waiting"]["message"]
    assert reason(answer, "Failed") == "WorkloadCreationError"
