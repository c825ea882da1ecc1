"""A run as reports see it, at every moment of its life: each targeted node once, each group once an iteration."""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.group_view import worst_first
from cli.hooking import admission, hooks
from cli.inputs import shipped_profiles
from cli.reporting.document import document
from cli.run_objects import RunObjects, of_simulation, wanted
from cli.run_view import RunView, view
from cli.simulate import START
from cli.simulator.inventory import load, make
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import Simulation
from sync_hooks.api.names import JobKey
from sync_hooks.planning.plan import PLAN_KEY
from sync_hooks.report.iteration import RESULT_KEY
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY

EXAMPLES = Path(__file__).parents[2] / "examples"


def simulated(
    *rules: Rule, nodes: str = "aws/h100x8", until: float = 5000, cordon: str = "", **spec: Any
) -> tuple[dict[str, Any], RunObjects]:
    """Play the example with other fields of its spec, so many seconds long; return the run and its objects.

    After half a minute the node ``cordon`` is cordoned.
    """
    run = yaml.safe_load((EXAMPLES / "nccl-all-reduce-bandwidth.yaml").read_text())
    run = {**run, "metadata": {"name": "demo", "namespace": "default"}, "spec": {**run["spec"], **spec}}
    inventory = load(nodes)
    simulation = Simulation(inventory, Scenario(rules), hooks, START)
    simulation.apply([*shipped_profiles(), run], admission)
    if cordon:
        simulation.run(30)
        node = simulation.store.get("v1", "Node", "", cordon).obj
        simulation.store.update({**node, "spec": {**node["spec"], "unschedulable": True}})
    report = simulation.run(until)
    stored = simulation.store.get("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", "demo").obj
    return stored, of_simulation(stored, report.objects, inventory)


def seen(*rules: Rule, **more: Any) -> RunView:
    return view(simulated(*rules, **more)[1])


def states(run: RunView) -> dict[str, str]:
    return {node.name: node.state for node in run.nodes}


@pytest.mark.parametrize("until", [0.1, 1, 5, 20, 61, 64, 70, 80, 300])
def test_every_targeted_node_is_there_once_at_every_moment(until: float) -> None:
    run = seen(Rule("Failed", frozenset({"gpu-0001"}), after=60), until=until)
    if run.groups:
        assert [node.name for node in run.nodes] == [f"gpu-000{number}" for number in range(8)]
    assert all(count == 1 for count in Counter(group.key for group in run.groups).values())


@pytest.mark.parametrize("until", [1, 64, 300])
def test_documents_have_no_null_at_any_moment(until: float) -> None:
    stored, objects = simulated(Rule("Failed", frozenset({"gpu-0001"}), after=60), until=until)

    def nulls(value: Any, path: str = "") -> list[str]:
        if isinstance(value, dict):
            return [found for key, part in value.items() for found in nulls(part, f"{path}.{key}")]
        if isinstance(value, list | tuple):
            return [found for part in value for found in nulls(part, f"{path}[]")]
        return [path] if value is None else []

    written = document(stored, view(objects))
    assert nulls({key: part for key, part in written.items() if key != "workloadRun"}) == []


def test_nodes_are_judged_while_the_run_is_under_way() -> None:
    run = seen(Rule("Failed", frozenset({"gpu-0001"}), after=5), Rule(after=1000), until=200)
    assert run.verdict == ""
    assert states(run)["gpu-0001"] == "failed"
    assert states(run)["gpu-0000"] == "inconclusive"
    assert states(run)["gpu-0004"] == "running"


def test_groups_that_wait_for_their_turn_are_pending() -> None:
    run = seen(Rule(after=1000), until=200, orchestration={"maxConcurrent": 1})
    assert [(group.state, group.reason) for group in run.groups][1] == ("Pending", "NotLaunched")
    assert states(run)["gpu-0007"] == "pending"


def test_iterations_whose_jobs_are_gone_are_told_from_their_results() -> None:
    stored, objects = simulated(
        Rule("Failed", frozenset({"gpu-0001"}), iteration=1, after=5), orchestration={"repeatCount": 2}
    )
    assert {job.metadata.name for job in objects.jobs} == {"demo-g0-i2", "demo-g1-i2"}
    run = view(objects)
    first = {group.key: group for group in run.groups}[JobKey(1, 0)]
    assert (first.state, first.blamed, first.job) == ("Failed", ("gpu-0001",), "demo-g0-i1")
    assert "exited with 1" in first.detail
    assert stored["status"]["verdict"] == "Failed"
    assert worst_first(run.groups, run.figure)[0].key == JobKey(1, 0)


def test_curves_outlive_their_jobs() -> None:
    run = seen(orchestration={"repeatCount": 2})
    assert {group.key.iteration for group in run.groups if group.bandwidth and group.bandwidth.results} == {1, 2}


def test_a_retry_counts_instead_of_what_it_replaces() -> None:
    retried = [{"when": {"platform": {"equals": "aws"}}, "orchestration": {"execution": {"retryFailedGroups": 1}}}]
    run = seen(Rule("Failed", frozenset({"gpu-0001"}), after=5), overrides=retried)
    by_key = {group.key: group for group in run.groups}
    assert by_key[JobKey(1, 0, 0)].superseded
    assert not by_key[JobKey(1, 0, 1)].superseded
    assert worst_first(run.groups, run.figure)[-1].key == JobKey(1, 0, 0)


def test_domains_come_from_the_nodes_own_labels() -> None:
    run = seen(nodes="aws/gb200x36")
    assert run.domain_key == "topology.k8s.aws/network-node-layer-1"
    assert Counter(node.domain for node in run.nodes) == {"nn-0": 18, "nn-1": 18}


def test_without_labels_the_plan_tells_the_domains() -> None:
    _, objects = simulated(nodes="aws/gb200x36")
    run = view(RunObjects(run=objects.run, workflow=objects.workflow, plan=objects.plan, jobs=objects.jobs))
    assert {node.domain for node in run.nodes} == {"nn-0", "nn-1"}


def test_excluded_nodes_are_all_there_with_their_reasons() -> None:
    run = seen(nodes=str(EXAMPLES / "nodes" / "aws-mixed.yaml"))
    excluded = {node.name.split(".")[0]: node.message for node in run.nodes if node.state == "excluded"}
    assert excluded["ip-10-0-1-12"] == "cordoned"
    assert len(excluded) == 4


@pytest.mark.parametrize("until", [200, 5000], ids=["under way", "ended"])
def test_a_node_that_went_in_mid_run_is_excluded_as_the_status_has_it(until: float) -> None:
    gone = Rule("Failed", frozenset({"gpu-0001"}), after=40, exit_code=143)
    stored, objects = simulated(gone, Rule(after=1000), cordon="gpu-0001", until=until)
    run = view(objects)
    assert bool(run.verdict) == (until == 5000)
    assert [(node.name, node.message) for node in run.nodes if node.state == "excluded"] == [
        ("gpu-0001", "cordoned while the run was under way")
    ]
    if run.verdict:
        assert [node["name"] for node in stored["status"]["excludedNodes"]] == ["gpu-0001"]
        unplanned = view(RunObjects(run=objects.run, workflow=objects.workflow, jobs=objects.jobs))
        assert states(unplanned)["gpu-0001"] == "excluded"


def test_a_run_that_was_never_planned_has_reasons_and_nothing_else() -> None:
    run = seen(numNodes=9, until=1000)
    assert (run.verdict, run.groups) == ("Failed", ())


ENTRIES = (PLAN_KEY, RESULT_KEY, SUCCEEDED_KEY, FAILED_KEY)
FLIPPED = base64.b64encode(gzip.compress(b"x")[:10] + b"\xff" * 20).decode()


@pytest.mark.parametrize("content", [{}, dict.fromkeys(ENTRIES, FLIPPED)], ids=["emptied", "bytes are flipped"])
def test_a_changed_config_map_is_a_note_and_no_end(content: dict[str, str]) -> None:
    stored, objects = simulated()
    identity = {"apiVersion": "v1", "kind": "ConfigMap"}
    broken = [
        {**identity, "metadata": {"name": name, "namespace": "default"}, "binaryData": content}
        for name in wanted(stored)
    ]
    found = of_simulation(stored, broken, make("aws/h100x8"))
    assert len(found.notes) == len(broken)
    assert view(found).notes == found.notes
    assert objects.notes == ()


def test_what_could_not_be_read_is_unknown_and_nobody_is_called_inconclusive() -> None:
    _, objects = simulated(Rule("Failed", frozenset({"gpu-0001"}), after=5))
    assert Counter(states(view(objects)).values()) == {"succeeded": 4, "inconclusive": 3, "failed": 1}
    unread = view(RunObjects(run=objects.run, workflow=objects.workflow, jobs=objects.jobs))
    assert set(states(unread).values()) == {"unknown"}
    half = view(replace(objects, failed=()))  # the other list was changed by somebody
    assert states(half) == states(view(objects))


def test_nodes_that_the_scheduler_chose_are_shown_and_so_are_those_that_it_left() -> None:
    run = seen(orchestration={"placement": "Unpinned"})
    [group] = run.groups
    assert len(group.nodes) == 4
    assert {name for name, state in states(run).items() if state == "succeeded"} == set(group.nodes)
    left = [node for node in run.nodes if node.name not in group.nodes]
    assert [(node.state, node.message) for node in left] == [
        ("inconclusive", "no verdict of its own: no group ran on it")
    ] * 4
