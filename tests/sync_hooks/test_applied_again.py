"""A run that is deleted and applied again under its name: what the first one left is waited for, never taken over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.hooking import admission
from cli.simulator.kinds import CRE
from sync_hooks import job, workflow, workloadrun
from sync_hooks.api.sync import GetObject, Result
from tests.properties.plays import NAMESPACE, RUN, Performance, Play
from tests.support.asking import Hook, ask
from tests.support.hooks import NOW, STAMP, live, manifest, owned, request
from tests.sync_hooks.test_job import parent as job_parent
from tests.sync_hooks.test_workflow import parent as workflow_parent
from tests.sync_hooks.test_workloadrun import run as run_parent

GAPS = (0.2, 1.2, 2.0, 2.5)  # seconds; the collector comes to one level of owners a second
KINDS = ("Workflow", "ConfigMap", "TrainingRuntime", "Job", "TrainJob", "JobSet")


def uids(performance: Performance) -> set[str]:
    return {entry.obj["metadata"]["uid"] for kind in KINDS for entry in performance.objects(kind)}


@pytest.mark.parametrize("deleted", [30.0, 600.0], ids=["under way", "ended"])
@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: f"{gap} s later")
def test_it_passes_on_objects_of_its_own(deleted: float, gap: float) -> None:
    performance = Performance(Play())
    first: set[str] = set()

    def delete() -> None:
        first.update(uids(performance))
        entry = performance.store.get(CRE, "WorkloadRun", NAMESPACE, RUN)
        performance.store.delete(entry, propagation="Background", actor="user")
        performance.clock.schedule(gap, lambda: performance.simulation.apply([performance.play.manifest()], admission))

    performance.clock.schedule(deleted, delete)
    performance.run(3600.0)
    assert performance.status()["verdict"] == "Passed"
    assert first
    assert first.isdisjoint(uids(performance))


LEVELS = [
    pytest.param(workloadrun.sync, run_parent(), manifest("Workflow", "run"), id="its Workflow"),
    pytest.param(workflow.sync, workflow_parent(), manifest("ConfigMap", "run-plan", apiVersion="v1"), id="its plan"),
    pytest.param(job.sync, job_parent(), manifest("TrainJob", f"{job_parent()['metadata']['name']}-w0",
                                                  apiVersion="trainer.kubeflow.org/v1alpha1"), id="its TrainJob"),
]  # fmt: skip


@pytest.mark.parametrize(("hook", "parent", "left"), LEVELS)
def test_what_is_never_collected_is_waited_for_within_a_bound_and_named(hook: Hook, parent, left) -> None:
    earlier = {**parent, "metadata": {**parent["metadata"], "uid": "uid-of-before"}}
    metadata = left["metadata"]
    read = GetObject(left["apiVersion"], left["kind"], metadata["name"], metadata["namespace"])
    world = {read: live(owned(left, earlier))}
    status = dict(parent["status"])

    def at(seconds: float) -> Result:
        return ask(hook, request({**parent, "status": status}), world, NOW + timedelta(seconds=seconds))

    for seconds in (0, 60, 299, 301):
        answer = at(seconds)
        status = answer.status
        assert failures(answer) == [], seconds
        assert answer.children == ()
        assert (answer.resync_after > 0, status["waiting"]["since"] == STAMP) == (True, seconds < 300)
    [message] = failures(at(340))
    assert metadata["name"] in message


def failures(answer: Result) -> list[str]:
    conditions = answer.status.get("conditions") or ()
    return [item["message"] for item in conditions if item["type"] == "Failed" and item["status"] == "True"]
