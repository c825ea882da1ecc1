"""Which of several pods failed first, and which failures are nobody's: by times of several clocks, or without any."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Pod
from sync_hooks.measurements.pods import COMPLETION_INDEX
from tests.support.hooks import condition, failed_pod, pod
from tests.sync_hooks.execution.test_blame import judge


def test_of_two_failures_one_of_which_has_no_time_nobody_knows_which_came_first():
    ended = {"name": "node", "state": {"terminated": {"exitCode": 1, "finishedAt": None}}}
    unknown = pod("a", node="n1", phase="Failed", containerStatuses=[ended])
    assert judge(failed_pod("b", "n2"), unknown).attribution == "Group"
    assert [node.name for node in judge(unknown, pod("b", node="n2")).nodes] == ["n1"]
    assert [node.name for node in judge(failed_pod("b", "n2", 137), unknown).nodes] == ["n1"]


def lost_track(name: str, node: str, **status: Any) -> Pod:
    """A pod that the kubelet evicted, of whose container nobody knows when it ended."""
    ended = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": None}}
    target = condition("DisruptionTarget", reason="TerminationByKubelet", at="2026-01-01T12:00:40Z")
    told = {"phase": "Failed", "reason": "Evicted", "conditions": [target], **status}
    return pod(name, node=node, containerStatuses=[{"name": "node", "state": ended}], **told)


def test_a_pod_that_was_evicted_after_another_had_failed_was_not_the_first():
    assert [node.name for node in judge(failed_pod("a", "n1"), lost_track("b", "n2")).nodes] == ["n1"]
    later = failed_pod("a", "n1", at="2026-01-01T12:00:50Z")
    assert [node.name for node in judge(later, lost_track("b", "n2")).nodes] == ["n2"]


def test_what_a_launchers_end_took_along_is_not_blamed_for_it():
    launcher = failed_pod("l", "n1", role="launcher")
    assert judge(launcher, lost_track("b", "n2")).attribution == "Group"
    assert judge(launcher, lost_track("b", "n2", conditions=[])).attribution == "Group"


def test_a_clock_that_says_that_a_pod_began_before_it_was_made_orders_nothing():
    behind = failed_pod("b", "n2", 134, at="2026-01-01T10:10:05Z")
    state = {"exitCode": 134, "startedAt": "2026-01-01T10:00:10Z", "finishedAt": "2026-01-01T10:10:05Z"}
    statuses = [{"name": "node", "state": {"terminated": state}}]
    behind = made(pod("b", node="n2", phase="Failed", containerStatuses=statuses), "2026-01-01T12:00:00Z")
    assert judge(failed_pod("a", "n1", 139, at="2026-01-01T12:10:00Z"), behind).attribution == "Group"


def made(found: Pod, at: str, place: str | None = None) -> Pod:
    labels = found.labels if place is None else {**found.labels, COMPLETION_INDEX: place}
    metadata = msgspec.structs.replace(found.metadata, creation_timestamp=at, labels=labels)
    return msgspec.structs.replace(found, metadata=metadata)


def test_a_failure_that_another_pod_has_got_over_is_not_what_the_workload_died_of():
    first = made(failed_pod("a", "n1", at="2026-01-01T12:00:20Z"), "2026-01-01T12:00:00Z", "0")
    runs = [{"name": "node", "state": {"running": {"startedAt": "2026-01-01T12:00:25Z"}}}]
    second = made(pod("b", node="n1", containerStatuses=runs), "2026-01-01T12:00:22Z", "0")
    fatal = made(failed_pod("c", "n2", 139, at="2026-01-01T12:29:55Z"), "2026-01-01T12:00:00Z", "1")
    assert [node.name for node in judge(first, second, fatal).nodes] == ["n2"]
    crash = made(failed_pod("a", "n1", 139, at="2026-01-01T12:00:20Z"), "2026-01-01T12:00:00Z", "0")
    waits = made(pod("b", node="n1", phase="Pending"), "2026-01-01T12:00:22Z", "0")
    assert [node.name for node in judge(crash, waits, fatal).nodes] == ["n1"]


@pytest.mark.parametrize("reason", ["Preempting", "OutOfnvidia.com/gpu", "OutOfcpu"])
def test_a_kubelet_that_gave_the_place_to_another_pod_blames_nobody(reason: str):
    refused = pod("a", node="n1", phase="Failed", reason=reason, message="Pod was rejected")
    found = judge(refused, pod("b", node="n2"))
    assert (found.attribution, found.message) == ("None", f"pod a was refused its place: {reason} Pod was rejected")


def test_of_a_workload_that_hung_those_are_blamed_that_had_not_ended_well():
    well = [{"name": "node", "state": {"terminated": {"exitCode": 0}}}]
    found = judge(pod("a", node="n1"), pod("b", node="n2", phase="Succeeded", containerStatuses=well))
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n1"])
    assert found.message == "pod a on node n1 still ran when the time was over; others had ended well"
