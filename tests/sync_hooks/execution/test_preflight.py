"""What the namespace would refuse, and who is already on the nodes: named before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.observed import LiveObject, Metadata
from sync_hooks.api.sync import GetObject, ListObjects, Read, Reads, Unreadable
from sync_hooks.execution.children import plan_config_map
from sync_hooks.execution.preflight import check_namespace
from sync_hooks.planning.plan import Plan, Unplannable, encode
from tests.support.hooks import condition, live, manifest
from tests.support.planned import planned
from tests.support.runs import run_spec

OWN = Metadata(name="run", namespace="default", uid="uid-run")
ENFORCE = "pod-security.kubernetes.io/enforce"
NAMESPACE = GetObject("v1", "Namespace", "default")
QUOTAS = ListObjects("v1", "ResourceQuota", "default")
RUNS = ListObjects("cre.nvidia.com/v1alpha1", "Workflow")
EMPTY: dict[Read, Any] = {NAMESPACE: None, QUOTAS: (), RUNS: ()}


def namespace(level: str) -> LiveObject:
    return live(manifest("Namespace", "default", apiVersion="v1", metadata={"labels": {ENFORCE: level}}))


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> LiveObject:
    return live(manifest("ResourceQuota", "small", spec={"hard": hard, **spec}, status={"used": used or {}}))


def check(plan: Plan, **found: Any) -> Plan | Unplannable:
    world = EMPTY | {NAMESPACE: found.get("namespace"), QUOTAS: found.get("quotas", ())}
    answer = check_namespace(plan, OWN, world)
    assert not isinstance(answer, Reads)
    return answer


@pytest.mark.parametrize(
    ("framework", "level", "refused"),
    [
        pytest.param("mpi", "baseline", "capabilities IPC_LOCK of container node", id="memory pinned under baseline"),
        pytest.param("mpi", "restricted", "container node may run as root", id="root under restricted"),
        pytest.param("exec", "restricted", "does not drop all capabilities", id="capabilities kept under restricted"),
    ],
)
def test_pods_that_the_namespace_refuses_end_planning_with_what_is_refused(framework, level, refused):
    found = check(planned(run_spec(framework)), namespace=namespace(level))
    assert isinstance(found, Unplannable)
    assert found.reason == "PodSecurityForbids"
    assert refused in found.message


@pytest.mark.parametrize(("framework", "level"), [("mpi", "privileged"), ("exec", "privileged"), ("mpi", "nonsense")])
def test_pods_that_the_namespace_allows_are_planned(framework, level):
    plan = planned(run_spec(framework))
    assert check(plan, namespace=namespace(level)) == plan


def test_a_quota_that_no_group_fits_into_ends_planning():
    found = check(planned(), quotas=(quota({"requests.nvidia.com/gpu": "15"}),))
    assert isinstance(found, Unplannable)
    assert (found.reason, "needs 16 requests.nvidia.com/gpu" in found.message) == ("QuotaTooSmall", True)


def test_a_quota_that_is_used_up_is_a_warning():
    found = check(planned(), quotas=(quota({"pods": "10"}, {"pods": "9"}),))
    assert isinstance(found, Plan)
    assert found.warnings == (
        "ResourceQuota small leaves 1 pods, a group needs 2: groups wait until others have ended",
    )


def test_a_quota_of_a_scope_says_nothing_of_these_pods():
    assert check(planned(), quotas=(quota({"pods": "0"}, scopes=["BestEffort"]),)) == planned()


def test_a_quota_that_counts_what_containers_do_not_set_is_a_warning():
    found = check(planned(), quotas=(quota({"limits.memory": "1Ti"}),))
    assert isinstance(found, Plan)
    assert "unless a LimitRange sets it" in found.warnings[0]


def test_what_cannot_be_read_is_not_held_against_the_run():
    unreadable = Unreadable("forbidden")
    assert check_namespace(planned(), OWN, dict.fromkeys(EMPTY, unreadable)) == planned()


def other(**status: Any) -> LiveObject:
    plan = {"name": "other-plan", "sha256": "x", "version": 1}
    return live(manifest("Workflow", "other", status={"plan": plan, **status}, metadata={"namespace": "team"}))


def test_nodes_that_another_run_under_way_holds_are_named():
    owner = other()
    stored = live(plan_config_map(owner, encode(planned())))
    read = GetObject("v1", "ConfigMap", "other-plan", "team")
    world = EMPTY | {RUNS: (owner, live(manifest("Workflow", "run")))}
    assert check_namespace(planned(), OWN, world) == Reads((read,))
    found = check_namespace(planned(), OWN, world | {read: stored})
    assert isinstance(found, Plan)
    assert found.warnings[0].startswith("4 of 4 nodes are used by run team/other, which is under way")


def test_runs_that_have_ended_hold_no_nodes():
    done = other(conditions=[condition("Succeeded")])
    assert check_namespace(planned(), OWN, EMPTY | {RUNS: (done,)}) == planned()
