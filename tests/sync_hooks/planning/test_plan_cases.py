"""The golden cases of planning: a run and the cluster's nodes go in, the plan and its objects come out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable
from sync_hooks.planning.trainjob import render_train_job
from tests.support.cases import Case, cases

WITH_OBJECTS = ("frameworks", "inputs", "platforms", "overrides")


@pytest.mark.parametrize("case", cases("plan"))
def test_a_run_is_planned(case: Case):
    run = case.load("run")
    identity = RunIdentity(run["metadata"]["name"], run["metadata"]["namespace"])
    planned = build(identity, WorkloadRunSpec.model_validate(run["spec"]), _nodes(case))
    case.expect("plan", _summary(planned))
    topic = case.folder.parent.name
    if isinstance(planned, Plan) and topic in WITH_OBJECTS:
        job = render_job(planned, identity, identity.name, 0, 1)
        case.expect("objects", [*([planned.runtime] if planned.runtime else []), *planned.shared, job])
        if topic == "frameworks":
            case.expect("trainjob", _train_job(job))


def _train_job(job: dict[str, Any]) -> dict[str, Any]:
    metadata = job["metadata"]
    return render_train_job(metadata["name"], metadata["namespace"], job["spec"], metadata["labels"], 0)


def _nodes(case: Case) -> list[Node]:
    listed = case.load("nodes")
    assert {item["kind"] for item in listed["items"]} <= {"Node"}
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert len(set(names)) == len(names), "two nodes of one name cannot exist"
    return [msgspec.convert(item, Node) for item in listed["items"]]


def _summary(planned: Plan | Unplannable) -> dict[str, Any]:
    if isinstance(planned, Unplannable):
        return {
            "reason": planned.reason,
            "message": planned.message,
            "wait": planned.wait,
            "exclusions": {node.name: node.reason for node in planned.exclusions},
        }
    whole = msgspec.to_builtins(planned)
    left_out = ("runtime", "shared", "job", "appliedOverrides", "tolerations")
    return {
        **{key: value for key, value in whole.items() if key not in left_out},
        "tolerations": list(planned.tolerations),
        "applied": {row["source"]: row["changed"] for row in planned.applied_overrides},
    }
