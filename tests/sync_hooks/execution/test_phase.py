"""The phase of a workload, and whose end it is."""

from __future__ import annotations

from sync_hooks.execution.phase import belongs, own_pods, suspended, terminal_condition, under_way
from tests.support.hooks import condition, live, manifest, owned, pod, train_job_child

EARLIER = "2026-01-01T11:59:51Z"


def test_an_end_that_is_older_than_the_train_job_is_somebody_elses():
    assert terminal_condition(train_job_child("j", [condition("Complete", at=EARLIER)])) is None
    assert terminal_condition(train_job_child("j", [condition("Complete")])) is not None


def test_failed_counts_before_complete():
    both = train_job_child("j", [condition("Complete"), condition("Failed")])
    assert terminal_condition(both).type == "Failed"


def test_a_jobset_of_another_train_job_is_no_witness():
    train_job = train_job_child("j")
    mine = owned(manifest("JobSet", "j"), manifest("TrainJob", "j", uid="uid-j"))
    other = owned(manifest("JobSet", "j"), manifest("TrainJob", "j", uid="uid-earlier"))
    assert belongs(live(mine), train_job)
    assert belongs(None, train_job)
    assert not belongs(live(other), train_job)


def test_a_suspended_train_job_is_pending_and_says_who_holds_it():
    held = suspended(train_job_child("j", [condition("Suspended", message="held by Kueue")], suspend=True))
    assert (held.phase, held.message) == ("Pending", "the TrainJob is suspended: held by Kueue")


def test_pods_with_a_forged_label_are_not_its_own():
    jobset = live(manifest("JobSet", "j", uid="uid-jobset"))
    assert own_pods([pod("a"), pod("b", jobset_uid="guessed")], jobset) == (pod("a"),)
    assert own_pods([pod("a")], None) == ()


def test_an_unschedulable_pod_keeps_the_workload_pending_with_the_schedulers_words():
    blocked = pod("b", phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/3 nodes")])
    found = under_way([pod("a"), blocked])
    assert (found.phase, found.message) == ("Pending", "pod b cannot be scheduled: 0/3 nodes")


def test_the_clock_starts_when_the_last_pod_has_started():
    found = under_way([pod("a", startTime="2026-01-01T12:00:05Z"), pod("b")])
    assert (found.phase, found.started) == ("Running", "2026-01-01T12:00:05Z")


def test_a_container_that_cannot_start_is_named():
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    found = under_way([pod("a", phase="Pending", containerStatuses=[{"name": "node", "state": state}])])
    assert (found.phase, found.message) == ("Pending", "pod a, container node: ImagePullBackOff no such image")


def test_a_workload_has_run_to_its_end_when_the_last_of_its_pods_has():
    ends = ("2026-01-01T12:09:00Z", "2026-01-01T12:05:00Z")
    states = [{"name": "node", "state": {"terminated": {"exitCode": 0, "finishedAt": at}}} for at in ends]
    found = under_way([pod(state["state"]["terminated"]["finishedAt"], phase="Succeeded", containerStatuses=[state])
                       for state in states])  # fmt: skip
    assert (found.reason, found.ended) == ("CompletionPending", "2026-01-01T12:09:00Z")
