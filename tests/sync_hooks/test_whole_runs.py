"""Whole runs through the product's own hooks: one story each, from the manifest to the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.simulator.entry import Object, with_metadata
from cli.simulator.kinds import CRE
from cli.simulator.scenario import Rule
from sync_hooks.api.names import ANNOTATION_RETENTION
from tests.properties.laws import Laws, check_end, lists
from tests.properties.plays import NAMESPACE, PROFILES, RUN, Action, Performance, Play, training_log


def performed(play: Play, until: float = 4 * 3600.0) -> Performance:
    laws = Laws()
    performance = Performance(play, laws.watch).run(until)
    check_end(performance, laws)
    return performance


def failed_nodes(performance: Performance) -> list[str]:
    workflow = performance.find("Workflow", RUN)
    assert workflow is not None
    return [item["name"] for item in lists(performance, workflow["metadata"]["uid"])[1]]


def reasons(performance: Performance) -> str:
    return "; ".join(performance.status().get("verdictReasons") or ())


# Nodes and pods


def test_an_evicted_pod_fails_its_group_and_names_its_node():
    evicted = Rule(outcome="Evicted", nodes=frozenset({"gpu-0001"}), after=30.0)
    performance = performed(Play(rules=(evicted,)))
    assert performance.status()["verdict"] == "Failed"
    assert failed_nodes(performance) == ["gpu-0001"]
    assert "Evicted" in reasons(performance)


def test_a_node_that_is_deleted_under_its_workload_is_excluded_and_its_neighbour_is_inconclusive():
    performance = performed(Play(actions=(Action(30.0, "delete node", index=0),)))
    assert performance.status()["verdict"] == "Incomplete"
    assert performance.status()["coverage"] == {"targeted": 4, "tested": 2, "excluded": 1, "inconclusive": 1}
    assert "node gpu-0000 excluded: deleted while the run was under way" in reasons(performance)


NOTICED = "mpirun noticed that process rank 9 with PID 0 on node run-g0-i1-w0-node-0-1 exited on signal 6 (Aborted)."


@pytest.mark.parametrize(
    ("play", "blamed"),
    [
        pytest.param(Play(framework="mpi", rules=(Rule("Failed", nodes=frozenset({"gpu-0001"}), after=60.0),)),
                     ["gpu-0001"], id="a worker of MPI failed"),
        pytest.param(Play(framework="mpi", rules=(Rule("Failed", after=60.0, log=(NOTICED,)),)),
                     ["gpu-0001", "gpu-0002", "gpu-0003"], id="the launcher names a worker"),
        pytest.param(Play(framework="torch", rules=(Rule("Failed", nodes=frozenset({"gpu-0001"}), after=60.0),)),
                     [], id="nobody knows what came first"),
        pytest.param(Play(framework="torch", retries=1, rules=(Rule("Failed", frozenset({"gpu-0001"}), after=60.0),)),
                     [], id="nobody knows, and there is no room to try again"),
        pytest.param(Play(rules=(Rule("Hang", nodes=frozenset({"gpu-0001"})),), timeout="5m"),
                     ["gpu-0000", "gpu-0001"], id="it hung"),
    ],
)  # fmt: skip
def test_a_node_that_is_merely_cordoned_hides_no_failure_of_its_group(play: Play, blamed: list[str]):
    performance = performed(replace(play, actions=(Action(40.0, "cordon", index=0),)))
    assert performance.status()["verdict"] == "Failed"
    assert failed_nodes(performance) == blamed


def test_a_node_that_loses_its_hostname_label_is_waited_for_with_the_schedulers_words():
    held = Rule(outcome="Unschedulable", after=100.0)
    performance = performed(Play(rules=(held,), actions=(Action(50.0, "relabel node", index=0),)))
    waiting = performance.status()["waiting"]
    assert waiting["reason"] == "WorkloadUnschedulable"
    assert "node affinity" in waiting["message"]


def test_time_in_a_queue_does_not_count_against_the_time_limit():
    queued = Rule(outcome="Suspended", after=7200.0)
    performance = performed(Play(rules=(queued,), timeout="5m"))
    assert performance.status()["verdict"] == "Passed"


def test_a_group_that_hangs_is_timed_out_and_the_nodes_are_free_for_the_next():
    hangs = Rule(outcome="Hang", nodes=frozenset({"gpu-0000"}))
    performance = performed(Play(inventory="aws/h100x3", rules=(hangs,), timeout="5m"))
    status = performance.status()
    assert status["verdict"] == "Failed"
    assert "the workload ran longer than 5m" in reasons(performance)
    assert status["progress"]["succeeded"] == 1  # the overflow group borrowed a node of the one that hung


@pytest.mark.parametrize("blind", [None, 20.0, 60.0], ids=str)
def test_a_restart_does_not_depend_on_when_the_log_was_last_read(blind: float | None):
    fails = Rule(outcome="Failed", attempt=0, after=70.0, log=training_log(saved=30))
    outage = () if blind is None else (Action(blind, "break", option="logs"),)
    play = Play("aws/h100x1", "torch", 1, goodput=True, restarts=1, rules=(fails,), actions=outage)
    performance = performed(play)
    assert performance.status()["verdict"] == "Passed"
    assert [job.name for job in performance.objects("TrainJob")] == ["run-g0-i1-w1"]


def test_a_node_that_failed_before_its_group_passed_is_named_on_passed_and_is_in_the_good_list():
    crashes = tuple(
        Rule(outcome="Failed", nodes=frozenset({"gpu-0000"}), attempt=attempt, after=70.0, log=training_log(saved=30))
        for attempt in (0, 1)
    )
    performance = performed(Play("aws/h100x2", "torch", 2, goodput=True, restarts=3, rules=crashes))
    assert performance.status()["verdict"] == "Passed"
    assert reasons(performance) == (
        "group 0: passed only after 2 restarts from a checkpoint; node gpu-0000 failed in attempts 0-1"
    )
    workflow = performance.find("Workflow", RUN) or {}
    assert lists(performance, workflow["metadata"]["uid"]) == (["gpu-0000", "gpu-0001"], [])
    assert [event["reason"] for event in performance.report.events].count("WorkloadRestarting") == 2


# What others do


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("Workflow", RUN, "WorkflowNameCollision"),
        ("ConfigMap", f"{RUN}-plan", "PlanNameCollision"),
        ("TrainingRuntime", f"{RUN}-runtime", "TrainingRuntimeNameCollision"),
        ("Job", f"{RUN}-g0-i1", "belongs to no run"),
        ("TrainJob", f"{RUN}-g0-i1-w0", "belongs to no run"),
        ("ConfigMap", f"{RUN}-iteration-1", "ConfigMapNameCollision"),
    ],
)
def test_an_object_of_somebody_else_is_named_in_the_verdict_and_never_touched(kind: str, name: str, reason: str):
    performance = performed(Play(actions=(Action(0.0, "intrude", kind, option=name),)))
    assert performance.status()["verdict"] == "Failed"
    assert reason in reasons(performance)
    assert name in reasons(performance)


def test_nodes_that_another_run_holds_are_named_in_the_plans_warnings():
    performance = Performance(Play(rules=(Rule(outcome="Succeeded", after=300.0),)))
    second = with_metadata(performance.play.manifest(), name="second")
    performance.clock.schedule(60.0, lambda: performance.store.create(second))
    performance.run()
    workflow = performance.find("Workflow", "second") or {}
    assert "4 of 4 nodes are used by run default/run, which is under way" in " ".join(workflow["status"]["warnings"])
    assert verdict_of(performance, "second") == "Passed"


@pytest.mark.parametrize(
    ("after", "verdict"), [(60.0, "Passed"), (None, "Failed")], ids=["installed a minute later", "never installed"]
)
def test_a_profile_that_is_not_there_yet_holds_the_run_and_one_that_never_comes_ends_it(
    after: float | None, verdict: str
):
    play = Play("aws/h100x2", "mpi", bandwidth=True)
    run = play.manifest()
    run["spec"]["bandwidthMeasurement"] = {"logProfileRef": "of-our-own"}
    laws = Laws()
    performance = Performance(play, laws.watch)
    performance.apply_instead(run)
    if after is not None:
        shipped = next(profile for profile in PROFILES if profile["metadata"]["name"] == "nccl-bandwidth")
        profile = {**shipped, "metadata": {"name": "of-our-own"}}
        performance.clock.schedule(after, lambda: performance.store.create(profile))
    performance.run(900.0)
    check_end(performance, laws)
    assert performance.status()["verdict"] == verdict
    if after is None:
        assert "LogProfileNotFound: LogProfile of-our-own does not exist" in reasons(performance)
        assert not performance.objects("Job")


def verdict_of(performance: Performance, name: str) -> str:
    run: Object = performance.find("WorkloadRun", name) or {}
    found: str = run["status"]["verdict"]
    return found


# After the end


def test_after_the_retention_jobs_and_trainjobs_go_and_the_verdict_stays():
    play = Play()
    performance = Performance(play)
    kept = with_metadata(play.manifest(), annotations={ANNOTATION_RETENTION: "1h"})
    performance.apply_instead(kept)
    performance.run(3500)
    ended = performance.status()
    assert ended["verdict"] == "Passed"
    assert len(performance.objects("Job")) == len(performance.objects("TrainJob")) == 2
    performance.simulation.run(2 * 3600)
    assert not performance.objects("Job")
    assert not performance.objects("TrainJob")
    assert not performance.objects("Pod")
    assert performance.status() == ended
    assert failed_nodes(performance) == []


def test_a_run_without_retention_keeps_its_jobs():
    performance = performed(Play())
    performance.simulation.run(48 * 3600)
    assert len(performance.store.select(CRE, "Job", NAMESPACE)) == 2
