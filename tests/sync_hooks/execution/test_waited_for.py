"""Workers that fail while another one has not started: they waited for it, and it is not they who are blamed."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.observed import Pod
from sync_hooks.execution.blame import Blame, blame, failures
from tests.support.hooks import STAMP, condition, failed_pod, pod
from tests.sync_hooks.execution.test_blame import stuck

GAVE_UP = failed_pod("a", "n1", at="2026-01-01T12:15:00Z")
LATER = "2026-01-01T12:14:00Z"
UNPLACED = condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")


def judge(*pods: Pod, **known: Any) -> Blame:
    return blame(failures(pods), pods, ("n1", "n2"), "", {}, **known)


def creating(since: str | None = STAMP, **status: Any) -> Pod:
    statuses = [{"name": "node", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    return pod("b", node="n2", phase="Pending", startTime=since, containerStatuses=statuses, **status)


def ended(code: int, started: str, why: str = "Error", **status: Any) -> Pod:
    """A worker on n1 that ended at 12:15."""
    end = {"exitCode": code, "reason": why, "startedAt": started, "finishedAt": "2026-01-01T12:15:00Z"}
    statuses = [{"name": "node", "state": {"terminated": end}}]
    return pod("a", node="n1", phase="Failed", containerStatuses=statuses, **status)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(creating(), id="created for a quarter of an hour"),
        pytest.param(creating(None, conditions=[condition("PodScheduled")]), id="placed that long ago, no sandbox"),
        pytest.param(stuck("b", "n2", message="nvml error: driver not loaded"), id="no driver"),
    ],
)
def test_a_worker_that_could_not_be_started_is_blamed_and_not_the_one_that_gave_it_up(other: Pod):
    found = judge(GAVE_UP, other)
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n2"])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(creating(LATER), id="still pulling its image"),
        pytest.param(pod("b", phase="Pending", startTime=None, conditions=[UNPLACED]), id="without a node"),
        pytest.param(creating(None), id="nobody knows since when"),
    ],
)
def test_where_nothing_keeps_it_from_starting_nobody_is_blamed(other: Pod):
    found = judge(GAVE_UP, other)
    assert (found.attribution, found.nodes) == ("None", ())
    assert found.message.endswith("exited with 1 (Error); not all workers had started: pod b has not started")


@pytest.mark.parametrize(
    "failed",
    [
        pytest.param(ended(1, "2026-01-01T12:14:41Z"), id="after a few seconds"),
        pytest.param(ended(139, STAMP), id="by a crash"),
        pytest.param(ended(137, STAMP, "OOMKilled"), id="for its memory"),
        pytest.param(ended(137, STAMP, reason="Evicted"), id="evicted by its kubelet"),
    ],
)
def test_who_failed_for_a_cause_of_its_own_gave_nobody_up(failed: Pod):
    assert [node.name for node in judge(failed, creating(LATER)).nodes] == ["n1"]


@pytest.mark.parametrize("code", [1, 134], ids=["an error", "a watchdog's abort"])
def test_who_ran_long_enough_to_give_a_peer_up_may_have_done_so(code: int):
    assert judge(ended(code, "2026-01-01T12:14:40Z"), creating(LATER)).attribution == "None"


def test_a_launcher_that_failed_while_a_worker_had_not_started_blames_nobody():
    launcher = failed_pod("l", "n1", role="launcher", at="2026-01-01T12:15:00Z")
    assert judge(launcher, pod("a", node="n1"), creating(LATER)).attribution == "None"
    assert [node.name for node in judge(launcher, pod("a", node="n1"), creating()).nodes] == ["n2"]


def test_what_was_waited_for_until_the_end_counts_where_its_pod_is_not_left():
    found = judge(GAVE_UP, lacking="0/9 nodes")
    assert (found.attribution, found.nodes) == ("None", ())
    assert found.message.endswith("not all workers had started: 0/9 nodes")
    assert judge(GAVE_UP, pod("b", node="n2"), lacking="0/9 nodes").attribution == "Node"


def test_of_a_group_whose_nodes_nobody_knows_the_number_of_its_workers_counts():
    pods = (failed_pod("a", "n7", 139),)
    assert blame(failures(pods), pods, (), "", {}, workers=2).attribution == "Node"
    all_of_them = (failed_pod("a", "n7"), failed_pod("b", "n8"))
    assert blame(failures(all_of_them), all_of_them, (), "", {}, workers=2).attribution == "Group"
    unable = (failed_pod("a", "n7", 127), failed_pod("b", "n8", 143))
    assert blame(failures(unable), unable, (), "", {}, workers=2).attribution == "Node"
