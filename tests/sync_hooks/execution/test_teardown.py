"""Tearing down Jobs with objects of their own, and the order that foreground deletion keeps by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sync_hooks import job
from sync_hooks.api.sync import ListPods, Result
from tests.support.asking import ask
from tests.support.hooks import NAMESPACE, NOW, STAMP, manifest, pod, request
from tests.sync_hooks.test_job import ATTEMPT, NAME, SPEC, parent, sync, train_job

PODS = {ListPods(NAMESPACE, ATTEMPT, fresh=True): (pod("p", node="n1"),)}
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "run-runtime"},
}
DOMAIN = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": {"name": "domain"}}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim"}}
DEVICES = {"dependencies": [RUNTIME, DOMAIN, CLAIM], **SPEC}


def seen(child: dict[str, Any]) -> dict[str, Any]:
    return manifest(child["kind"], child["metadata"]["name"], apiVersion=child["apiVersion"])


def finalize(children: list[dict[str, Any]], world: dict[Any, Any], seconds: float = 0, **status: Any) -> Result:
    asked = request(parent(status), children, finalizing=True)
    return ask(job.finalize, asked, world, NOW + timedelta(seconds=seconds))


def kinds(answer: Result) -> list[str]:
    return sorted(child["kind"] for child in answer.children)


def owners(answer: Result, kind: str) -> list[tuple[str, bool]]:
    made = next(child for child in answer.children if child["kind"] == kind)
    return [(owner["kind"], owner["blockOwnerDeletion"]) for owner in made["metadata"].get("ownerReferences", ())]


def test_devices_and_storage_stay_while_a_pod_lives():
    first = finalize([train_job(), seen(RUNTIME), seen(DOMAIN)], PODS)
    assert (kinds(first), first.finalized) == (["ComputeDomain", "TrainingRuntime"], False)
    assert kinds(finalize([seen(RUNTIME), seen(DOMAIN)], {}, **first.status)) == []
    assert finalize([], {}).finalized


def test_a_pod_on_a_dead_node_does_not_hold_a_namespace_for_ever():
    waiting = finalize([seen(DOMAIN)], PODS)
    late = finalize([seen(DOMAIN)], PODS, 301, **waiting.status)
    assert kinds(late) == ["ComputeDomain"]
    assert kinds(finalize([seen(DOMAIN)], PODS, 332, **late.status)) == []


def test_a_teardown_has_its_own_time_however_long_the_pods_had_been_going_before():
    before = {"reason": "Draining", "message": "the last pods of the group are going", "since": STAMP}
    first = finalize([seen(DOMAIN)], PODS, 298, waiting=before)
    again = finalize([seen(DOMAIN)], PODS, 340, **first.status)
    assert kinds(again) == ["ComputeDomain"]
    assert kinds(finalize([seen(DOMAIN)], PODS, 590, **again.status)) == ["ComputeDomain"]


def test_the_pods_of_the_attempt_that_runs_are_waited_for_and_of_the_one_before():
    for name in (f"{NAME}-w1", f"{NAME}-w0"):
        alive = {ListPods(NAMESPACE, name, fresh=True): (pod("p", node="n1"),)}
        assert kinds(finalize([seen(DOMAIN)], alive, attempt=1)) == ["ComputeDomain"]
    other = {ListPods(NAMESPACE, f"{NAME}-w2", fresh=True): (pod("p", node="n1"),)}
    assert kinds(finalize([seen(DOMAIN)], other, attempt=1)) == []


def test_after_an_outage_the_train_job_still_goes_first():
    waiting = finalize([train_job(), seen(DOMAIN)], PODS)
    assert kinds(finalize([train_job(), seen(DOMAIN)], PODS, 7200, **waiting.status)) == ["ComputeDomain"]


def test_the_runtime_is_made_after_the_domain_that_must_outlive_it():
    first = sync(parent(**DEVICES), [], {})
    assert kinds(first) == ["ComputeDomain", "PersistentVolumeClaim"]
    second = sync(parent(**DEVICES), [seen(DOMAIN), seen(CLAIM)], {})
    assert owners(second, "TrainingRuntime") == [("ComputeDomain", True)]


def test_a_train_job_holds_on_to_a_runtime_of_its_own():
    answer = sync(parent(**DEVICES), [seen(DOMAIN), seen(CLAIM), seen(RUNTIME)], {})
    assert owners(answer, "TrainJob") == [("TrainingRuntime", True)]


def test_a_runtime_that_somebody_deleted_before_the_pods_came_is_made_again():
    answer = sync(parent(**DEVICES), [train_job(), seen(DOMAIN), seen(CLAIM)], {})
    assert "TrainingRuntime" in kinds(answer)
    assert NAME not in [child["metadata"]["name"] for child in answer.children]


def test_results_outlive_a_job_with_devices_as_they_outlive_any_other():
    result = manifest("BandwidthMeasurement", f"{NAME}-bandwidth")
    assert kinds(finalize([train_job(), seen(DOMAIN), result], {})) == ["BandwidthMeasurement", "ComputeDomain"]
    last = finalize([seen(DOMAIN), result], {})
    assert (kinds(last), last.finalized) == (["BandwidthMeasurement"], False)
    gone = finalize([result], {})
    assert (kinds(gone), gone.finalized) == (["BandwidthMeasurement"], True)
