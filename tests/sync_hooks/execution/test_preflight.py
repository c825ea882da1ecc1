"""What the namespace would refuse, which LogProfiles cannot measure, and who is on the nodes: named in advance."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import LiveObject
from sync_hooks.api.sync import GetLogProfile, GetObject, ListObjects, Read, Reads, Unreadable
from sync_hooks.execution.children import plan_config_map
from sync_hooks.execution.preflight import look_ahead
from sync_hooks.planning.plan import PLAN_KEY, Plan, Unplannable, encode, sha256
from tests.support.asking import installed
from tests.support.hooks import condition, live, manifest
from tests.support.nodes import nodes
from tests.support.overriding import patched
from tests.support.planned import planned
from tests.support.runs import run_spec

ENFORCE = "pod-security.kubernetes.io/enforce"
NAMESPACE = GetObject("v1", "Namespace", "default")
QUOTAS = ListObjects("v1", "ResourceQuota", "default")
RUNS = ListObjects("cre.nvidia.com/v1alpha1", "Workflow")
EMPTY: dict[Read, Any] = {NAMESPACE: None, QUOTAS: (), RUNS: ()}


def namespace(level: str) -> LiveObject:
    return live(manifest("Namespace", "default", apiVersion="v1", metadata={"labels": {ENFORCE: level}}))


def check(plan: Plan, **found: Any) -> Plan | Unplannable:
    world = EMPTY | {NAMESPACE: found.get("namespace"), QUOTAS: found.get("quotas", ()), **found.get("world", {})}
    answer = look_ahead(plan, "default", world)
    assert not isinstance(answer, Reads)
    return answer


@pytest.mark.parametrize(
    ("framework", "level", "refused"),
    [
        pytest.param("mpi", "baseline", "container node adds capabilities IPC_LOCK", id="memory pinned under baseline"),
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


HOST = {"name": "host", "hostPath": {"path": "/"}}
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
ORDINARY = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@pytest.mark.parametrize(
    ("pod", "refused"),
    [
        pytest.param({"volumes": [HOST]}, "the pod has volumes of type hostPath", id="a volume"),
        pytest.param(
            {"containers": [{"name": "node", "securityContext": {"privileged": True}}]},
            "container node is privileged",
            id="a privileged container",
        ),
    ],
)
def test_what_a_patch_of_the_trainjob_adds_to_pods_is_refused_as_the_namespace_would(pod, refused):
    found = check(planned(run_spec(overrides=[patched(**pod)])), namespace=namespace("baseline"))
    assert isinstance(found, Unplannable)
    assert refused in found.message


def test_what_a_patch_of_the_trainjob_makes_safe_is_not_refused():
    pod = {"securityContext": ORDINARY, "containers": [{"name": "node", "securityContext": SAFE}]}
    plan = planned(run_spec(overrides=[patched(**pod)]), nodes(2, platform="onprem"))
    assert check(plan, namespace=namespace("restricted")) == plan


def test_what_cannot_be_read_is_not_held_against_the_run():
    unreadable = Unreadable("forbidden")
    assert look_ahead(planned(), "default", dict.fromkeys(EMPTY, unreadable)) == planned()


def other(name: str = "other", **status: Any) -> LiveObject:
    plan = {"name": f"{name}-plan", "sha256": sha256(encode(planned())), "version": 1}
    return live(manifest("Workflow", name, status={"plan": plan, **status}, metadata={"namespace": "team"}))


def test_nodes_that_another_run_under_way_holds_are_named():
    owner = other()
    stored = live(plan_config_map(owner, encode(planned())))
    read = GetObject("v1", "ConfigMap", "other-plan", "team")
    world = EMPTY | {RUNS: (owner, live(manifest("Workflow", "run")))}
    assert look_ahead(planned(), "default", world) == Reads((read,))
    found = look_ahead(planned(), "default", world | {read: stored})
    assert isinstance(found, Plan)
    assert found.warnings[0].startswith("4 of 4 nodes are used by run team/other, which is under way")


@pytest.mark.parametrize(
    ("number", "cut"),
    [
        (20, ()),
        (21, ("and 1 more run is under way, of which the nodes were not looked at: groups wait for those too",)),
        (25, ("and 5 more runs are under way, of which the nodes were not looked at: groups wait for those too",)),
    ],
)
def test_of_many_runs_under_way_the_plans_of_twenty_are_read_and_it_is_said_that_there_are_more(
    number: int, cut: tuple[str, ...]
):
    runs = tuple(other(f"r{place:02}") for place in range(number))
    reads = tuple(GetObject("v1", "ConfigMap", f"r{place:02}-plan", "team") for place in range(20))
    world = EMPTY | {RUNS: (other("ended", conditions=[condition("Failed")]), *runs)}
    assert look_ahead(planned(), "default", world) == Reads(reads)
    plans = {read: live(plan_config_map(run, encode(planned()))) for read, run in zip(reads, runs, strict=False)}
    found = look_ahead(planned(), "default", world | plans)
    assert isinstance(found, Plan)
    assert [warning.split()[8] for warning in found.warnings[:20]] == [f"team/r{place:02}," for place in range(20)]
    assert found.warnings[20:] == cut


ANOTHER = base64.b64encode(encode(msgspec.structs.replace(planned(), targeted=9))).decode()


@pytest.mark.parametrize("content", [ANOTHER, "bm9uZQ==", ""], ids=["another plan", "no plan", "nothing"])
def test_a_plan_that_another_run_does_not_follow_says_nothing_and_stops_nobody(content):
    stored = live(manifest("ConfigMap", "other-plan", apiVersion="v1", binaryData={PLAN_KEY: content}))
    world = EMPTY | {RUNS: (other(),), GetObject("v1", "ConfigMap", "other-plan", "team"): stored}
    assert look_ahead(planned(), "default", world) == planned()


def test_runs_that_have_ended_hold_no_nodes():
    done = other(conditions=[condition("Succeeded")])
    assert look_ahead(planned(), "default", EMPTY | {RUNS: (done,)}) == planned()


# LogProfiles

LAYOUT = {"timestamp": {"layout": "2006-01-02 15:04:05"}}
STEP = {"trainingStep": {"regex": r"step (?P<globalStep>\d+)"}}
TABLE = {"bandwidthResult": {"regex": r"(?P<size>\d+) (?P<algBW>\S+) (?P<busBW>\S+)"}}


def measured(framework: str, field: str, profile: str, **more: Any) -> Plan:
    return planned(run_spec(framework, **{field: {"logProfileRef": profile}}, **more))


def of_own(**spec: Any) -> dict[Read, Any]:
    profile = {"patterns": {**STEP, **TABLE}, **LAYOUT, **spec}
    return {GetLogProfile("mine"): live(manifest("LogProfile", "mine", spec=profile))}


def test_a_run_that_measures_nothing_reads_no_profile():
    assert look_ahead(planned(), "default", EMPTY) == planned()


def test_each_profile_is_read_once_whatever_the_number_of_groups():
    both = {name: {"logProfileRef": "mine"} for name in ("bandwidthMeasurement", "goodputMeasurement")}
    plan = planned(run_spec("torch", numNodes=1, **both))
    assert len(plan.groups) == 4
    assert look_ahead(plan, "default", EMPTY) == Reads((GetLogProfile("mine"),))
    assert check(plan, world=of_own()) == plan


@pytest.mark.parametrize(
    ("framework", "field", "profile"),
    [
        *(("mpi", "bandwidthMeasurement", "nccl-bandwidth"), ("exec", "bandwidthMeasurement", "nccl-bandwidth")),
        *(("exec", "bandwidthMeasurement", "nccl-loopback"), ("torch", "bandwidthMeasurement", "nccl-loopback")),
        *(("torch", "goodputMeasurement", name) for name in ("megatron-training", "megatron-bridge", "lightning")),
        *(("torch", "goodputMeasurement", name) for name in ("nemo-4-training", "torchtitan")),
    ],
)
def test_a_shipped_profile_fits_what_it_is_for(framework, field, profile):
    plan = measured(framework, field, profile)
    assert check(plan, world={GetLogProfile(profile): installed()[profile]}) == plan


@pytest.mark.parametrize("found", [None, Unreadable("forbidden")], ids=["missing", "unreadable"])
def test_a_profile_that_is_not_there_or_not_readable_is_waited_for(found):
    problem = check(
        measured("mpi", "bandwidthMeasurement", "nccl-bandwith"), world={GetLogProfile("nccl-bandwith"): found}
    )
    assert isinstance(problem, Unplannable)
    assert (problem.wait, problem.waiting) == (True, "WaitingForProfile")
    assert "LogProfile nccl-bandwith" in problem.message
    assert "spec.bandwidthMeasurement.logProfileRef" in problem.message


@pytest.mark.parametrize(
    ("framework", "field", "spec", "words"),
    [
        pytest.param(
            *("mpi", "bandwidthMeasurement", {"patterns": STEP}),
            "spec.patterns.bandwidthResult is missing: mend the profile",
            id="no pattern for a table",
        ),
        pytest.param(
            *("torch", "goodputMeasurement", {"patterns": TABLE}),
            "spec.patterns.trainingStep is missing: mend the profile",
            id="no pattern for steps",
        ),
        pytest.param(
            *("torch", "goodputMeasurement", {"patterns": {"trainingStep": {"regex": "(?P<globalStep>"}}}),
            "spec.patterns.trainingStep.regex",
            id="an expression that does not compile",
        ),
        pytest.param(
            *("torch", "goodputMeasurement", {"patterns": {"trainingStep": {"regex": "step"}}}),
            "names no group",
            id="an expression without its groups",
        ),
        pytest.param(
            *("mpi", "bandwidthMeasurement", {"workerStrategy": {"type": "Single", "replicatedJobName": "node"}}),
            "launcher has the output; leave its workerStrategy.replicatedJobName unset",
            id="workers under mpi",
        ),
        pytest.param(
            *("exec", "bandwidthMeasurement", {"workerStrategy": {"type": "Single", "replicatedJobName": "launcher"}}),
            "reads replicatedJob launcher, and this run has only node: change its workerStrategy.replicatedJobName",
            id="a launcher without mpi",
        ),
        pytest.param(
            *("torch", "goodputMeasurement", {"containerName": "trainer"}),
            "reads container trainer, and the pods of replicatedJob node have node: change its containerName",
            id="another container",
        ),
    ],
)
def test_a_profile_that_cannot_fit_ends_planning_and_says_what_to_change(framework, field, spec, words):
    problem = check(measured(framework, field, "mine"), world=of_own(**spec))
    assert isinstance(problem, Unplannable)
    assert not problem.wait
    assert words in problem.message


def test_of_two_profiles_the_one_that_cannot_fit_is_told_before_the_one_to_wait_for():
    plan = measured("torch", "bandwidthMeasurement", "late", goodputMeasurement={"logProfileRef": "mine"})
    problem = check(plan, world=of_own(patterns=TABLE) | {GetLogProfile("late"): None})
    assert isinstance(problem, Unplannable)
    assert (problem.reason, problem.wait) == ("LogProfileInvalid", False)


def test_what_the_namespace_refuses_is_told_before_a_profile_is_waited_for():
    plan = measured("mpi", "bandwidthMeasurement", "late")
    problem = check(plan, namespace=namespace("restricted"), world={GetLogProfile("late"): None})
    assert isinstance(problem, Unplannable)
    assert problem.reason == "PodSecurityForbids"
