"""Where an override sends pods: nodes that it rules out are left out by name, and it never undoes a group's pins."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import EFA, node, nodes
from tests.support.overriding import overridden, patched
from tests.support.planned import DEMO, planned, rendered_job, train_job_of
from tests.support.runs import run_spec

HOSTS = (node("a1", labels={"zone": "a", "rank": "7"}), node("a2", labels={"zone": "a"}), node("b1"))
BIG = nodes(2, resources={**EFA, "cpu": "192", "memory": "2000Gi"})


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def labelled(key: str, operator: str, *values: str) -> dict[str, Any]:
    given = {"values": list(values)} if values else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **given}]}


NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a2"]}]}
BY_SELECTOR = "the pods' nodeSelector asks for zone=a"
BY_AFFINITY = "does not meet the pods' required node affinity"


@pytest.mark.parametrize("change", [overridden, patched], ids=["of the runtime", "of the TrainJob"])
@pytest.mark.parametrize(
    ("pod", "left_out"),
    [
        pytest.param({"nodeSelector": {"zone": "a"}}, {"b1": BY_SELECTOR}, id="nodeSelector"),
        pytest.param(affinity(labelled("zone", "In", "a")), {"b1": BY_AFFINITY}, id="In"),
        pytest.param(affinity(labelled("zone", "NotIn", "a")), {"a1": BY_AFFINITY, "a2": BY_AFFINITY}, id="NotIn"),
        pytest.param(affinity(labelled("rank", "Exists")), {"a2": BY_AFFINITY, "b1": BY_AFFINITY}, id="Exists"),
        pytest.param(affinity(labelled("rank", "DoesNotExist")), {"a1": BY_AFFINITY}, id="DoesNotExist"),
        pytest.param(affinity(labelled("rank", "Gt", "6")), {"a2": BY_AFFINITY, "b1": BY_AFFINITY}, id="Gt"),
        pytest.param(affinity(labelled("rank", "Lt", "8")), {"a2": BY_AFFINITY, "b1": BY_AFFINITY}, id="Lt"),
        pytest.param(affinity(NAMED), {"a1": BY_AFFINITY, "b1": BY_AFFINITY}, id="a field"),
        pytest.param(affinity(labelled("rank", "Exists"), NAMED), {"b1": BY_AFFINITY}, id="one of two terms"),
        pytest.param(affinity({}, NAMED), {"a1": BY_AFFINITY, "b1": BY_AFFINITY}, id="a term that nothing meets"),
    ],
)
def test_nodes_that_the_workers_may_not_go_to_are_left_out_by_name(change, pod, left_out):
    spec = run_spec(numNodes=1, overrides=[change(**pod)])
    plan = planned(spec, HOSTS)
    assert dict(plan.exclusions) == left_out
    assert [group.nodes for group in plan.groups] == [(one.name,) for one in HOSTS if one.name not in left_out]


def test_a_name_of_a_node_leaves_out_all_others():
    plan = planned(run_spec(numNodes=1, overrides=[overridden(nodeName="a2")]), HOSTS)
    assert [group.nodes for group in plan.groups] == [("a2",)]
    assert dict(plan.exclusions) == dict.fromkeys(("a1", "b1"), "the pods' nodeName is a2")


def test_a_choice_that_no_node_meets_is_waited_for_and_told():
    result = build(DEMO, run_spec(overrides=[overridden(nodeSelector={"zone": "c"})]), HOSTS)
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("PartitionError", True)
    assert result.message == (
        "no node is one that the workers ask for: 3 nodes: the pods' nodeSelector asks for zone=c (a1, a2, b1)"
    )


WIDE = {**affinity(labelled("zone", "In", "a")), "tolerations": [{"key": "team", "operator": "Exists"}]}


@pytest.mark.parametrize("manager", ["team.example.com/own", "cre.nvidia.com/controller"])
def test_a_patch_of_the_users_never_takes_the_place_of_a_groups_pins(manager):
    override = patched(**WIDE)
    override["jobTemplate"]["spec"]["workload"]["trainJob"]["runtimePatches"][0]["manager"] = manager
    job = rendered_job(planned(run_spec(overrides=[override]), HOSTS))
    last = train_job_of(job)["spec"]["runtimePatches"][-1]
    assert last["manager"] == "cre.nvidia.com/controller"
    [worker] = last["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = worker["template"]["spec"]["template"]["spec"]
    [term] = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == labelled("kubernetes.io/hostname", "In", "a1", "a2")
    assert {"key": "team", "operator": "Exists"} in pod["tolerations"]


def test_an_unpinned_group_stays_on_the_nodes_that_its_workers_ask_for():
    orchestration = {"placement": "Unpinned"}
    plan = planned(run_spec(orchestration=orchestration, overrides=[patched(**WIDE)]), HOSTS)
    assert plan.candidates == ("a1", "a2")
    assert {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a1", "a2"]} in plan.node_requirements


CPUS = {"resources": {"limits": {"cpu": "191"}}}


@pytest.mark.parametrize(
    ("fields", "change", "said"),
    [
        pytest.param(CPUS, {}, "gpu-000: 192 cpu, 193 needed", id="its own CPUs beside a worker's"),
        pytest.param(
            {},
            {"nodeSelector": {"role": "cpu"}},
            "gpu-000: the pods' nodeSelector asks for role=cpu",
            id="a nodeSelector that no node of the group meets",
        ),
    ],
)
def test_a_launcher_that_has_no_place_in_any_group_ends_planning(fields, change, said):
    overrides = [overridden("launcher", **change)] if change else []
    result = build(DEMO, run_spec("mpi", overrides=overrides, **fields), BIG)
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("PartitionError", False)
    assert result.message == f"replicatedJob launcher has no node in any group, beside a worker: {said}"


def test_groups_in_which_the_launcher_has_no_place_are_named_where_others_have_one():
    small = [node(name, resources={**EFA, "cpu": "191"}) for name in ("small-0", "small-1")]
    plan = planned(run_spec("mpi", resources={"limits": {"cpu": "190"}}), [*BIG, *small])
    assert len(plan.groups) == 2
    assert plan.warnings[-1] == (
        "replicatedJob launcher has no node beside a worker in group 1, which would wait: small-0: 191 cpu, 192 needed"
    )


def test_resources_of_the_trainer_are_the_launchers_under_mpi():
    given = {"trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}, "requests": {"nvidia.com/gpu": 4}}}}
    override = {"jobTemplate": {"spec": {"workload": {"trainJob": given}}}}
    result = build(DEMO, run_spec("mpi", overrides=[override]), nodes(2))
    assert isinstance(result, Unplannable)
    assert result.message.endswith("beside a worker: gpu-000: 8 nvidia.com/gpu, 12 needed")
