"""Jobs that somebody deleted: what they left behind is looked for, a bounded number of things an answer."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.sync import GetObject, ListPods, Observed, Read, Reads, Unreadable
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.groups import group_states
from sync_hooks.execution.lost import Lost, look_for_lost
from sync_hooks.planning.plan import Group, Plan
from tests.support.hooks import NOW, manifest, pod, request

GROUPS = tuple(Group(nodes=(f"n{number}",)) for number in range(20))


def looked(restarts: int, found: dict[Read, Any], **status: Any) -> tuple[Lost, int]:
    """Look for the Jobs of twenty groups, of which none is there; also return the most reads of one round."""
    plan = Plan(prefix="run", groups=GROUPS, job={"spec": {"checkpoint": {"pvcName": "p", "maxRestarts": restarts}}})
    known = WorkflowStatus.model_validate({"launched": "0-19", **status})
    states = group_states(plan, 1, {}, known)
    observed: dict[Read, Any] = {}
    most = 0
    while True:
        answer = look_for_lost(request(manifest("Workflow", "run")), known, plan, 1, states, observed, NOW)
        if not isinstance(answer, Reads):
            return answer, most
        most = max(most, len(answer.reads))
        observed |= {read: found.get(read, () if isinstance(read, ListPods) else None) for read in answer.reads}


@pytest.mark.parametrize(("restarts", "jobs", "most"), [(0, 20, 60), (5, 20, 360), (9, 13, 390), (100, 1, 303)])
def test_of_few_jobs_with_many_attempts_as_much_is_read_at_a_time_as_of_many_with_few(restarts, jobs, most):
    lost, reads = looked(restarts, {})
    assert (lost.groups, reads) == (frozenset(range(jobs)), most)


def test_the_jobs_that_come_next_are_waited_for_and_not_given_up():
    lost, _ = looked(100, {}, lost="0-2")
    assert lost.groups == frozenset({3})
    assert lost.unread is not None
    assert (lost.unread.reason, lost.unread.object) == ("DeletedJobDraining", "Job/run-g4-i1")
    assert looked(100, {}, lost="0-18")[0] == Lost(frozenset({19}))


def test_a_pod_of_any_attempt_holds_its_job():
    alive: Observed = {ListPods("default", "run-g0-i1-w97", fresh=True): (pod("p", node="n0"),)}
    assert looked(100, dict(alive))[0].groups == frozenset()


def test_a_job_that_cannot_be_read_is_neither_lost_nor_in_the_way_of_others():
    first = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", "default")
    lost, _ = looked(100, {first: Unreadable("timeout")})
    assert lost.groups == frozenset({1})
    assert lost.unread is not None
    assert lost.unread.reason == "ReadFailing"
