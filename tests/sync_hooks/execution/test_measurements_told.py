"""Measurements are told of an end by their Job, in place: all else that was asked for is asked for again as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.simulator.apply import LAST_APPLIED, updated
from sync_hooks.api.sync import ListNodes
from tests.support.hooks import condition, manifest, owned, pod
from tests.sync_hooks.test_job import (
    ATTEMPT,
    BANDWIDTH,
    FRESH,
    JOBSET,
    NAME,
    NOTHING_THERE,
    PODS,
    jobset,
    kinds,
    parent,
    sync,
    train_job,
)

TOLD = "cre.nvidia.com/workload-ended"
MEASURED = parent(bandwidthMeasurement=BANDWIDTH, ranks=16)
ENDED = train_job(condition("Complete"))
RUNNING = {JOBSET: jobset(), PODS: (pod("p", node="n1", startTime="2026-01-01T12:00:00Z"),), ListNodes(): ()}
SUCCEEDED = {JOBSET: jobset(), FRESH: (pod("p", node="n1", startTime="2026-01-01T12:00:00Z", phase="Succeeded"),)}


def made(job_: dict[str, Any]) -> dict[str, Any]:
    """Make a Job's measurement as it stands once Metacontroller has made it and its own hook has written to it."""
    [asked] = measurements(sync(job_, [train_job()], RUNNING))
    asked["metadata"].setdefault("labels", {})["controller-uid"] = job_["metadata"]["uid"]
    system = {**manifest(asked["kind"], asked["metadata"]["name"])["metadata"], "generation": 1}
    note = {LAST_APPLIED: json.dumps(asked, sort_keys=True, separators=(",", ":"))}
    stored = {**asked, "metadata": {**system, **asked["metadata"], "annotations": note}, "status": {"rowsSeen": 3}}
    return owned(stored, job_)


def measurements(answer: Any) -> list[dict[str, Any]]:
    return [child for child in answer.children if child["kind"] == "BandwidthMeasurement"]


def test_a_measurement_is_made_when_the_workload_runs_and_asks_for_nothing_while_it_is_queued() -> None:
    job_ = parent(bandwidthMeasurement={**BANDWIDTH, "testType": "all_reduce"}, ranks=16)
    assert kinds(sync(job_, [], NOTHING_THERE)) == ["TrainJob"]
    assert kinds(sync(job_, [train_job()], {PODS: (), ListNodes(): ()})) == ["TrainJob"]
    answer = sync(
        job_,
        [train_job()],
        {JOBSET: jobset(), PODS: (pod("p", node="n1", startTime="2026-01-01T15:00:00Z"),), ListNodes(): ()},
    )
    assert kinds(answer) == ["TrainJob", "BandwidthMeasurement"]
    measurement = answer.children[1]
    assert measurement["spec"] == {
        "jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": NAME},
        "logProfileRef": "nccl-bandwidth",
        "testType": "all_reduce",
        "ranks": 16,
    }
    [owner] = measurement["metadata"]["ownerReferences"]
    assert (owner["kind"], owner.get("controller")) == ("Workflow", None)


def test_while_the_workload_runs_nothing_of_a_measurement_is_changed() -> None:
    measurement = made(MEASURED)
    [kept] = measurements(sync(MEASURED, [train_job(), measurement], RUNNING))
    assert updated(measurement, kept) == measurement


def test_an_end_is_told_once_and_nothing_else_is_changed() -> None:
    measurement = made(MEASURED)
    ended = sync(MEASURED, [ENDED, measurement], SUCCEEDED)
    [kept] = measurements(ended)
    told = updated(measurement, kept)
    assert told["metadata"]["annotations"][TOLD] == f"uid-{ATTEMPT}"
    assert (told["spec"], told["metadata"]["ownerReferences"]) == (
        measurement["spec"],
        measurement["metadata"]["ownerReferences"],
    )
    later = sync(parent(ended.status, bandwidthMeasurement=BANDWIDTH, ranks=16), [ENDED, told], SUCCEEDED)
    [again] = measurements(later)
    assert updated(told, again) == told


def test_a_measurement_that_is_made_after_the_end_is_told_as_it_begins() -> None:
    [late] = measurements(sync(MEASURED, [ENDED], SUCCEEDED))
    assert late["metadata"]["annotations"] == {TOLD: f"uid-{ATTEMPT}"}


def test_what_was_told_of_a_workload_that_goes_on_is_taken_back() -> None:
    """Whoever told it could not write it down: the node was ready again, or steps came, when the next one looked."""
    measurement = made(MEASURED)
    [kept] = measurements(sync(MEASURED, [ENDED, measurement], SUCCEEDED))
    told = updated(measurement, kept)
    seen = {"workloadRef": {"name": ATTEMPT, "uid": f"uid-{ATTEMPT}"}, "workloadPhase": "Running"}
    job_ = parent(seen, bandwidthMeasurement=BANDWIDTH, ranks=16)
    [back] = measurements(sync(job_, [train_job(), told], RUNNING))
    assert TOLD not in updated(told, back)["metadata"]["annotations"]


def test_an_owner_that_is_gone_is_not_asked_for_again_and_no_other_is_lost() -> None:
    measurement = made(MEASURED)
    owners = [owner for owner in measurement["metadata"]["ownerReferences"] if owner["kind"] == "Job"]
    alone = {**measurement, "metadata": {**measurement["metadata"], "ownerReferences": owners}}
    for _ in range(2):
        [kept] = measurements(sync(MEASURED, [train_job(), alone], RUNNING))
        alone = updated(alone, kept)
        assert alone["metadata"]["ownerReferences"] == owners
    assert updated(alone, kept) == alone


def test_a_measurement_is_made_when_the_first_pod_has_begun_so_that_its_log_is_seen_without_a_line() -> None:
    pods = (pod("p", node="n1", startTime="2026-01-01T12:00:00Z"), pod("q"))
    assert measurements(sync(MEASURED, [train_job()], RUNNING | {PODS: pods}))


SPOILT = [
    None,
    "",
    "no JSON",
    "[]",
    '{"metadata": 1}',
    '{"metadata": {"annotations": "x"}, "spec": {}}',
    '{"metadata": {"labels": {"a": 1}}, "spec": {}}',
    '{"metadata": {}, "spec": "x"}',
    "[" * 100_000,
]


def test_a_label_of_another_parent_in_the_note_is_not_taken_over() -> None:
    measurement = made(MEASURED)
    noted = {"metadata": {"labels": {"controller-uid": "another"}}, "spec": measurement["spec"]}
    measurement["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(noted)}
    [kept] = measurements(sync(MEASURED, [train_job(), measurement], RUNNING))
    assert kept["metadata"]["labels"] == {"controller-uid": MEASURED["metadata"]["uid"]}


@pytest.mark.parametrize("note", SPOILT, ids=lambda note: str(note)[:40])
def test_where_nothing_was_noted_the_measurement_itself_is_repeated(note: str | None) -> None:
    """So it is under server-side apply, and where somebody has spoilt the note."""
    measurement = made(MEASURED)
    measurement["metadata"]["annotations"] = {} if note is None else {LAST_APPLIED: note}
    [kept] = measurements(sync(MEASURED, [train_job(), measurement], RUNNING))
    assert kept["spec"] == measurement["spec"]
    assert kept["metadata"]["labels"] == measurement["metadata"]["labels"]
    assert [owner["kind"] for owner in kept["metadata"]["ownerReferences"]] == ["Workflow"]


def test_a_note_cannot_speak_for_another_object() -> None:
    measurement = made(MEASURED)
    forged = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "kube-system"}, "spec": {}}
    measurement["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(forged)}
    [kept] = measurements(sync(MEASURED, [train_job(), measurement], RUNNING))
    assert (kept["metadata"]["name"], kept["metadata"]["namespace"]) == (f"{NAME}-bandwidth", "default")


def test_a_job_that_is_settled_keeps_its_measurement_as_it_is() -> None:
    measurement = made(MEASURED)
    over = {"settled": True, "drained": True, "conditions": [condition("Succeeded")]}
    [kept] = measurements(sync(parent(over, bandwidthMeasurement=BANDWIDTH), [ENDED, measurement], NOTHING_THERE))
    assert updated(measurement, kept) == measurement
