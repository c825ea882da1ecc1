"""Nodes of a workload under way: the shared snapshot may be a minute old, and a live look confirms what it shows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from sync_hooks.api.observed import Node
from sync_hooks.api.sync import GetObject, ListNodes, Unreadable
from tests.support.asking import healthy
from tests.support.hooks import condition, live, manifest, pod
from tests.sync_hooks.test_job import JOBSET, PODS, jobset, parent, reason, states, sync, train_job
from tests.sync_hooks.test_job_endings import BROKEN, HEALTH, bad_node
from tests.sync_hooks.test_workflow import node

N1 = GetObject("v1", "Node", "n1")
TWO = (pod("a", node="n1"), pod("b", node="n2"))
WATCHED = {JOBSET: jobset(), PODS: TWO, ListNodes(): (bad_node("n1"), bad_node("n2"))}


@pytest.mark.parametrize(
    ("found", "waits_for"),
    [
        pytest.param(healthy("n1"), None, id="it has returned"),
        pytest.param(None, None, id="it is gone"),
        pytest.param(Unreadable("429 slow down"), "ReadFailing", id="it cannot be read"),
    ],
)
def test_a_node_that_only_the_snapshot_shows_as_failed_ends_nothing(found: Any, waits_for: str | None):
    world = {**WATCHED, ListNodes(): (bad_node("n1"), node("n2")), N1: found}
    answer = sync(parent(**HEALTH), [train_job()], world)
    assert states(answer)["InProgress"] == "True"
    assert "failedNodes" not in answer.status
    assert answer.status.get("waiting", {}).get("reason") == waits_for


def test_of_nodes_that_the_snapshot_shows_as_failed_only_those_that_still_are_so_are_blamed():
    answer = sync(parent(**HEALTH), [train_job()], {**WATCHED, **BROKEN})
    assert [item["name"] for item in answer.status["failedNodes"]] == ["n1"]


def test_an_expression_sees_of_a_node_that_is_read_live_what_it_sees_in_the_snapshot():
    labelled = manifest("Node", "n1", metadata={"labels": {"rack": "r1"}, "annotations": {"note": "spare"}})
    expression = 'node.metadata.labels["rack"] == "r1" && node.metadata.annotations["note"] == "spare"'
    wanted = parent(nodeHealthMonitor={"cel": {"expression": expression}})
    world = {**WATCHED, ListNodes(): (convert(labelled, Node),), N1: live(labelled)}
    assert states(sync(wanted, [train_job()], world))["HardwareFailed"] == "True"


@pytest.mark.parametrize(
    ("found", "ended"),
    [
        pytest.param(healthy("n1", unschedulable=True), "Drained", id="it still is"),
        pytest.param(healthy("n1"), None, id="it is not any more"),
        pytest.param(Unreadable("429 slow down"), None, id="it cannot be read"),
    ],
)
def test_a_group_that_waits_for_room_ends_for_a_node_that_is_seen_cordoned_live(found: Any, ended: str | None):
    blocked = pod("p", phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")])
    cordoned = convert({"metadata": {"name": "n1"}, "spec": {"unschedulable": True}}, Node)
    world = {JOBSET: jobset(), PODS: (blocked,), ListNodes(): (cordoned, node("n2")), N1: found}
    first = sync(parent(), [train_job()], world)
    over = sync(parent(first.status), [train_job()], world, seconds=301)
    assert (reason(over, "Failed") if states(over)["Failed"] == "True" else None) == ended
