"""Nodes of a workload under way: the shared snapshot may be a minute old, and a live look confirms what it shows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import convert

from sync_hooks.api.observed import Node, Pod, PodSpec
from sync_hooks.api.sync import GetObject, ListNodes, Unreadable
from tests.support.asking import healthy
from tests.support.hooks import condition, live, manifest, pod
from tests.sync_hooks.test_job import JOBSET, PODS, jobset, parent, reason, states, sync, train_job
from tests.sync_hooks.test_job_endings import BROKEN, HEALTH, NO_HEARTBEAT, bad_node, seen_twice
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
    answer = seen_twice([train_job()], {**WATCHED, **BROKEN}, **HEALTH)
    assert [item["name"] for item in answer.status["failedNodes"]] == ["n1"]


def test_an_expression_sees_of_a_node_that_is_read_live_what_it_sees_in_the_snapshot():
    labelled = manifest("Node", "n1", metadata={"labels": {"rack": "r1"}, "annotations": {"note": "spare"}})
    expression = 'node.metadata.labels["rack"] == "r1" && node.metadata.annotations["note"] == "spare"'
    world = {**WATCHED, ListNodes(): (convert(labelled, Node),), N1: live(labelled)}
    answer = seen_twice([train_job()], world, nodeHealthMonitor={"cel": {"expression": expression}})
    assert states(answer)["HardwareFailed"] == "True"


BLIP = [
    pytest.param(["n1"], [], 0, "False", id="it has returned"),
    pytest.param(["n1"], ["n2"], 0, "Unknown", id="another one seems to fail then"),
    pytest.param(["n1"], ["n1"], 29, "Unknown", id="it is the same look"),
    pytest.param(["n1"], ["n1"], 31, "True", id="it has not"),
]


@pytest.mark.parametrize(("first", "then", "seconds", "told"), BLIP)
def test_a_node_that_is_not_ready_at_one_look_does_not_end_the_workload(first, then, seconds: int, told: str):
    status: dict[str, Any] = {}
    for names, at in ((first, 0), (then, seconds)):
        known = tuple(bad_node(name) if name in names else node(name) for name in ("n1", "n2"))
        broken = {GetObject("v1", "Node", name): live(manifest("Node", name, status=NO_HEARTBEAT)) for name in names}
        world = {JOBSET: jobset(), PODS: TWO, ListNodes(): known, **broken}
        answer = sync(parent(status or None, **HEALTH), [train_job()], world, seconds=at)
        status = dict(answer.status)
    assert states(answer)["HardwareFailed"] == told
    assert states(answer)["Failed"] == ("True" if told == "True" else "False")


def test_a_suspicion_from_the_future_is_noted_anew():
    world = {**WATCHED, **BROKEN, ListNodes(): (bad_node("n1"), node("n2"))}
    ahead = sync(parent(**HEALTH), [train_job()], world, seconds=3600)
    back = sync(parent(dict(ahead.status), **HEALTH), [train_job()], world, seconds=0)
    assert states(sync(parent(dict(back.status), **HEALTH), [train_job()], world, 31))["HardwareFailed"] == "True"


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


WAITS = [condition("PodScheduled", "False", "Unschedulable", "0/9 nodes are available")]


def devices(name: str, gpus: int, **spec: Any) -> dict[str, Any]:
    return manifest("Node", name, spec=spec, status={"allocatable": {"nvidia.com/gpu": str(gpus)}})


def waiting_pod(*tolerated: str, gpus: int = 8, role: str = "node") -> Pod:
    """A pod that no node takes, with what it asks for."""
    wants = convert({"containers": [{"name": "node", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}, PodSpec)
    tolerations = tuple({"key": key, "operator": "Exists"} for key in tolerated)
    spec = msgspec.structs.replace(wants, tolerations=tolerations)
    return msgspec.structs.replace(pod("p", role=role, phase="Pending", conditions=WAITS), spec=spec)


SICK = {"taints": [{"key": "nvidia.com/sick", "effect": "NoSchedule"}]}
LOST_A_GPU = "unfit for the workload: 7 nvidia.com/gpu, 8 needed"
TAINTED = "unfit for the workload: taint nvidia.com/sick:NoSchedule is not tolerated"
UNFIT = [
    pytest.param(waiting_pod(), devices("n1", 7), LOST_A_GPU, id="it has lost a GPU"),
    pytest.param(waiting_pod(), devices("n1", 8, **SICK), TAINTED, id="it was tainted"),
    pytest.param(waiting_pod("nvidia.com/sick"), devices("n1", 8, **SICK), None, id="the taint is tolerated"),
    pytest.param(waiting_pod(), devices("n1", 8), None, id="it is only busy"),
]


@pytest.mark.parametrize(("waits", "found", "said"), UNFIT)
def test_a_group_does_not_wait_for_ever_for_a_node_that_has_become_unfit(waits, found, said: str | None):
    world = {JOBSET: jobset(), PODS: (waits,), ListNodes(): (convert(found, Node), node("n2")), N1: live(found)}
    status: dict[str, Any] | None = None
    for seconds in (0, 301, 602, 640, 5000):
        answer = sync(parent(status), [train_job()], world, seconds=seconds)
        status = dict(answer.status)
        if states(answer)["Failed"] == "True":
            break
    assert (reason(answer, "Failed") if said else None) == ("NodeUnfit" if said else None)
    assert [(item["name"], item["message"]) for item in status.get("failedNodes", ())] == ([("n1", said)] * bool(said))


def test_a_device_plugin_that_starts_anew_makes_no_node_unfit():
    short, whole = devices("n1", 0), devices("n1", 8)
    status: dict[str, Any] | None = None
    for seconds, found in ((0, whole), (301, short), (400, whole), (5000, short), (5100, whole)):
        world = {JOBSET: jobset(), PODS: (waiting_pod(),), ListNodes(): (convert(found, Node), node("n2"))}
        answer = sync(parent(status), [train_job()], {**world, N1: live(found)}, seconds=seconds)
        status = dict(answer.status)
    assert states(answer)["InProgress"] == "True"


def test_a_node_with_a_pod_of_the_group_is_not_what_the_others_wait_for():
    runs = pod("q", node="n1")
    short = devices("n1", 7)
    world = {JOBSET: jobset(), PODS: (waiting_pod(), runs), ListNodes(): (convert(short, Node), node("n2"))}
    status: dict[str, Any] | None = None
    for seconds in (0, 301, 5000, 5040):
        answer = sync(parent(status), [train_job()], {**world, N1: live(short)}, seconds=seconds)
        status = dict(answer.status)
    assert answer.status["waiting"]["reason"] == "WorkloadUnschedulable"
