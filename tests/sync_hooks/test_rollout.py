"""Two versions of the hooks at once, in a rollout or a roll-back: what one wrote the other neither ends nor judges."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from sync_hooks import bandwidth, goodput, job, workflow, workloadrun
from sync_hooks.api.sync import Busy
from sync_hooks.planning.plan import PLAN_KEY, encode
from tests.support.asking import Hook, ask
from tests.support.hooks import NOW, STAMP, condition, manifest, request
from tests.sync_hooks import test_job as of_job
from tests.sync_hooks import test_workflow as of_workflow
from tests.sync_hooks import test_workloadrun as of_run
from tests.sync_hooks.test_workflow import FOUR_NODES, marked, runtime, stored_plan

__all__ = ["stored_plan"]  # a fixture
NEWER: dict[str, Any] = {"brandNew": 1}


@pytest.mark.parametrize("children", [[], [of_job.train_job()]], ids=["before its workload", "under its workload"])
@pytest.mark.parametrize(
    "spec",
    [NEWER, {"checkpoint": {"pvcName": "x", **NEWER}}, {**NEWER, "timeout": 5}],
    ids=["a field", "below", "more"],
)
def test_a_job_with_a_field_of_another_version_is_left_to_that_version(spec: dict[str, Any], children: list[Any]):
    answer = job.sync(request(of_job.parent(**spec), children), {}, NOW)
    assert isinstance(answer, Busy)
    assert "brandNew" in answer.reason


@pytest.mark.parametrize(
    ("kind", "hook"),
    [("BandwidthMeasurement", bandwidth.sync), ("GoodputMeasurement", goodput.sync)],
)
def test_a_measurement_with_a_field_of_another_version_is_never_told_to_stop_by_one_that_does_not_know_it(
    kind: str, hook: Hook
):
    ref = {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "run-g0-i1"}
    measurement = manifest(kind, "run-g0-i1-measured", spec={"jobRef": ref, "logProfileRef": "profile", **NEWER})
    answer = hook(request(measurement), {}, NOW)
    assert isinstance(answer, Busy)
    assert "brandNew" in answer.reason


def test_a_job_that_has_settled_is_kept_whoever_wrote_it():
    settled = of_job.parent({"settled": True, "drained": True, "conditions": [condition("Succeeded")]}, **NEWER)
    assert job.sync(request(settled), {}, NOW).status == settled["status"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("hook", "parent", "spec"),
    [
        pytest.param(workloadrun.sync, of_run.run, of_run.SPEC, id="a WorkloadRun"),
        pytest.param(workflow.sync, of_workflow.parent, of_workflow.SPEC, id="a Workflow"),
    ],
)
def test_a_run_that_has_not_begun_waits_for_the_version_that_knows_its_fields_and_then_ends_with_their_names(
    hook: Hook, parent: Callable[..., dict[str, Any]], spec: dict[str, Any]
):
    def synced(seconds: float, status: dict[str, Any] | None = None, **more: Any) -> Any:
        about = request(parent(spec={**spec, **more}, status=status or {}))
        return ask(hook, about, FOUR_NODES, NOW + timedelta(seconds=seconds))

    def failed(status: dict[str, Any]) -> list[tuple[str, bool]]:
        conditions = [item for item in status["conditions"] if (item["type"], item["status"]) == ("Failed", "True")]
        return [(item["reason"], "spec.brandNew" in item["message"]) for item in conditions]

    first = synced(0, **NEWER)
    assert (failed(first.status), first.children, first.resync_after > 0) == ([], (), True)
    assert first.status["waiting"]["reason"] == "UnknownFields"
    assert synced(10, first.status).children  # by a version that knows the field, here: without it
    late = synced(301, first.status, **NEWER)
    assert failed(late.status) == []
    assert failed(synced(332, late.status, **NEWER).status) == [("InvalidSpec", True)]


@pytest.mark.parametrize("more", [{}, {"bound": "300"}, {"bound": 300}, {"bound": {"seconds": 300}}], ids=str)
def test_what_another_version_adds_to_what_a_job_waits_for_is_skipped(stored_plan, more: dict[str, Any]):
    waiting = {"reason": "Queued", "message": "held by Kueue", "since": STAMP, **more}
    status = {"settled": False, "drained": False, "conditions": [], "waiting": waiting}
    children = [stored_plan, runtime(stored_plan), *(of_workflow.job(f"run-g{n}-i1", **status) for n in range(2))]
    answer = of_workflow.sync(marked(stored_plan, launched="0-1"), children, {})
    assert answer.status["waiting"] == {
        "reason": "Queued",
        "message": "held by Kueue",
        "since": STAMP,
        "object": "Job/run-g0-i1",
    }


def test_a_run_that_was_planned_under_other_names_goes_on_under_them(stored_plan: dict[str, Any]):
    plan = of_workflow.plan_of(stored_plan)
    other = replace(plan, prefix="ru-4d2f1", runtime=json.loads(json.dumps(plan.runtime).replace("run-", "ru-4d2f1-")))
    stored = {**stored_plan, "binaryData": {PLAN_KEY: b64encode(encode(other)).decode()}}
    made = runtime(stored)
    assert made["metadata"]["name"] == "ru-4d2f1-runtime"

    def jobs(children: list[dict[str, Any]], **status: Any) -> list[str]:
        synced = of_workflow.sync(marked(stored, **status), [stored, made, *children], {})
        return of_workflow.names(synced, "Job")

    known = [of_workflow.job(f"ru-4d2f1-g{group}-i1", settled=False) for group in (0, 1)]
    assert jobs([]) == ["ru-4d2f1-g0-i1", "ru-4d2f1-g1-i1"]
    assert jobs(known, launched="0-1") == ["ru-4d2f1-g0-i1", "ru-4d2f1-g1-i1"]
