"""The WorkloadRun's hook: one Workflow, mirrored, and an end that is an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sync_hooks import workloadrun
from sync_hooks.api.model import LONGEST_MESSAGE
from sync_hooks.api.observed import Told
from sync_hooks.api.sync import GetObject, ListEvents, Observed, Result, Unreadable
from tests.support.asking import ask
from tests.support.hooks import NAMESPACE, NOW, condition, live, manifest, owned, request

SPEC = {"image": "img", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}}
WORKFLOW = GetObject("cre.nvidia.com/v1alpha1", "Workflow", "run", NAMESPACE)
ERRORS = ListEvents(NAMESPACE, "SyncError", "uid-run")
REF = {"name": "run", "namespace": NAMESPACE}


def run(**changes: Any) -> dict[str, Any]:
    return manifest("WorkloadRun", "run", **{"spec": SPEC, **changes})


def workflow(**status: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", uid="uid-workflow", status=status)


def sync(run_: dict[str, Any], children: list[dict[str, Any]], world: Observed, seconds: float = 0) -> Result:
    return ask(workloadrun.sync, request(run_, children), world, NOW + timedelta(seconds=seconds))


def true(answer: Result) -> list[tuple[str, str]]:
    return [(item["type"], item["reason"]) for item in answer.status["conditions"] if item["status"] == "True"]


def test_a_run_makes_its_workflow_with_the_admitted_spec():
    answer = sync(run(), [], {})
    [made] = answer.children
    assert made["spec"] == {**SPEC, "orchestration": {"timeoutPerJob": "24h"}}
    assert "annotations" not in made["metadata"]
    assert "workflowRef" not in answer.status  # it comes from a Workflow that is seen


def test_the_retention_of_a_run_reaches_its_workflow():
    annotated = run(metadata={"annotations": {"cre.nvidia.com/retention": "72h", "other": "x"}})
    [made] = sync(annotated, [], {}).children
    assert made["metadata"]["annotations"] == {"cre.nvidia.com/retention": "72h"}


def test_a_workflow_that_cannot_be_made_is_named_with_the_clusters_words_and_given_up():
    world = {ERRORS: (Told("admission webhook denied the request"),)}
    first = sync(run(), [], world)
    later = sync(run(status=first.status), [], world, seconds=31)
    assert "denied the request" in later.status["waiting"]["message"]
    late = sync(run(status=later.status), [], world, seconds=301)
    assert true(late) == [("InProgress", "Creating")]
    over = sync(run(status=late.status), [], world, seconds=332)
    assert true(over) == [("Failed", "WorkflowCreationError")]
    assert "denied the request" in over.status["verdictReasons"][0]


def test_after_an_hour_without_anybody_looking_creation_is_tried_again():
    waiting = sync(run(), [], {}).status
    after = sync(run(status=waiting), [], {}, seconds=3600)
    assert (true(after), len(after.children)) == ([("InProgress", "Creating")], 1)


def test_an_api_that_cannot_be_read_gives_nothing_up():
    waiting = sync(run(), [], {}).status
    answer = sync(run(status=waiting), [], {WORKFLOW: Unreadable("timeout")}, seconds=3600)
    assert true(answer) == [("InProgress", "Creating")]
    assert answer.status["waiting"]["since"] == waiting["waiting"]["since"]
    assert answer.status["waiting"]["message"].endswith("the cluster cannot be read: timeout")


def test_a_workflow_of_somebody_else_is_never_touched():
    answer = sync(run(), [], {WORKFLOW: live(workflow())})
    assert true(answer) == [("Failed", "WorkflowNameCollision")]
    assert answer.children == ()


def test_an_earlier_workflow_that_is_going_is_waited_for_and_then_named_with_what_holds_it():
    going = workflow()
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T11:59:00Z", "finalizers": ["x/hold"]}
    world = {WORKFLOW: live(going)}
    first = sync(run(), [], world)
    assert first.status["waiting"]["reason"] == "WorkflowTerminating"
    late = sync(run(status=first.status), [], world, seconds=301)
    over = sync(run(status=late.status), [], world, seconds=332)
    assert "x/hold" in over.status["verdictReasons"][0]


def test_a_workflow_that_is_there_and_not_visible_is_not_made_again():
    mine = owned(workflow(), run())
    assert sync(run(), [], {WORKFLOW: live(mine)}).children == ()


def test_a_workflow_that_was_seen_and_is_gone_was_deleted_and_no_node_has_a_verdict():
    coverage = {"targeted": 5, "tested": 0, "excluded": 1, "inconclusive": 0}
    answer = sync(run(status={"workflowRef": REF, "coverage": coverage}), [], {})
    assert true(answer) == [("Failed", "WorkflowDeleted")]
    assert answer.status["coverage"] == {"targeted": 5, "tested": 0, "excluded": 1, "inconclusive": 4}
    assert answer.children == ()


def test_a_workflow_is_mirrored_with_progress_and_what_it_waits_for():
    waiting = {"reason": "WorkloadSuspended", "message": "held by Kueue", "since": "2026-01-01T12:00:00Z"}
    progress = {"iteration": 1, "iterations": 2, "groups": 4, "pending": 1, "running": 1, "succeeded": 2, "failed": 0}
    warnings = ["2 of 8 nodes are used by run default/other, which is under way: groups wait for them (n0, n1)"]
    answer = sync(run(), [workflow(progress=progress, waiting=waiting, warnings=warnings)], {})
    message = next(item["message"] for item in answer.status["conditions"] if item["type"] == "InProgress")
    assert message == "iteration 1 of 2: 2 of 4 groups done, 1 running, 1 pending; held by Kueue"
    assert (answer.status["workflowRef"], answer.status["warnings"]) == (REF, warnings)
    assert "verdict" not in answer.status


def test_a_message_as_long_as_the_api_allows_can_be_mirrored():
    failed = condition("Failed", reason="IterationsFailed", message="x" * LONGEST_MESSAGE)
    first = sync(run(), [workflow(conditions=[failed])], {})
    message = next(item["message"] for item in first.status["conditions"] if item["type"] == "Failed")
    assert len(message) == LONGEST_MESSAGE
    assert message.startswith("IterationsFailed: xxx")


def test_the_end_is_final_whatever_the_caches_show_afterwards():
    coverage = {"targeted": 2, "tested": 2, "excluded": 0, "inconclusive": 0}
    done = workflow(conditions=[condition("Succeeded", reason="JobCompleted")], coverage=coverage)
    ended = sync(run(), [done], {})
    assert ended.status["verdict"] == "Passed"
    assert [(event.type, event.reason) for event in ended.events] == [("Normal", "WorkflowSucceeded")]
    for children in ([], [workflow(conditions=[condition("InProgress")])], [done]):
        again = sync(run(status=ended.status), children, {}, seconds=60)
        assert again.status == ended.status
        assert again.resync_after == 0


def test_a_failed_validation_is_shown_beside_success_and_fails_the_verdict():
    violated = condition("ValidationFailed", reason="ThresholdViolated", message="too slow")
    answer = sync(run(), [workflow(conditions=[condition("Succeeded", reason="JobCompleted"), violated])], {})
    assert true(answer) == [("Succeeded", "WorkflowSucceeded"), ("ValidationFailed", "ThresholdViolated")]
    assert answer.status["verdict"] == "Failed"
