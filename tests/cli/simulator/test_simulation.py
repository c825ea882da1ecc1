"""The whole cluster: reading, applying, ending, repeating itself, growing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.simulator.entry import Object
from cli.simulator.faults import Faults
from cli.simulator.inventory import make
from cli.simulator.kinds import CORE, CRE, TRAINER
from cli.simulator.metacontroller import ACTOR
from cli.simulator.pace import Pace
from cli.simulator.report import Report
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import HotLoop, Refused, Simulation
from sync_hooks.api.errors import FieldError
from sync_hooks.api.observed import LiveObject, Log, Node, Pod
from sync_hooks.api.sync import GetLogProfile, GetObject, ListEvents, ListNodes, ListPods, ReadLog, Unreadable
from tests.cli.simulator.cluster import START, Hooks, controller, parent, simulation, train_job, training_runtime
from tests.cli.simulator.tiers import Tiers
from tools.bench.simulator import measure

RUNS = (CRE, "workloadruns")


def tiers(groups: int, iterations: int, *rules: Rule, seed: int = 0, **more: Any) -> Simulation:
    hooks = Tiers(groups, iterations, measure=True)
    cluster = Simulation(
        make(f"aws/h100x{2 * groups}"), Scenario(rules), hooks.factory, START, faults=Faults(seed=seed), **more
    )
    cluster.apply([parent()], lambda _, obj: obj)
    return cluster


def phase(cluster: Simulation) -> str:
    status = cluster.store.get(CRE, "WorkloadRun", "default", "run").obj.get("status", {})
    return str(status.get("phase", ""))


def finished(cluster: Simulation) -> Report:
    return cluster.run(48 * 3600, lambda: phase(cluster) == "Done")


class TestReading:
    """What hooks read."""

    @pytest.fixture
    def cluster(self) -> Simulation:
        cluster = simulation(Hooks({}), [])
        cluster.store.create(training_runtime())
        cluster.store.create(train_job("job-w0", ("gpu-0000", "gpu-0001")))
        return cluster

    def test_a_live_object_comes_as_a_struct_and_none_where_there_is_none(self, cluster: Simulation) -> None:
        found = cluster.reader.read(GetObject(TRAINER, "TrainJob", "job-w0", "default"))
        assert isinstance(found, LiveObject)
        assert (found.metadata.name, found.spec["suspend"]) == ("job-w0", False)
        assert cluster.reader.read(GetObject(TRAINER, "TrainJob", "job-w1", "default")) is None
        assert cluster.reader.read(GetObject("x/v1", "NotServed", "x", "default")) is None

    def test_nodes_come_sorted_and_as_old_as_they_may_be(self, cluster: Simulation) -> None:
        nodes = cluster.reader.read(ListNodes())
        assert [node.name for node in nodes] == ["gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003"]
        assert isinstance(nodes[0], Node)
        assert nodes[0].status.allocatable["nvidia.com/gpu"] == "8"
        entry = cluster.store.get(CORE, "Node", "", "gpu-0000")
        cluster.store.update({**entry.obj, "spec": {"unschedulable": True}})
        assert not cluster.reader.read(ListNodes(60))[0].spec.unschedulable
        assert cluster.reader.read(ListNodes(0))[0].spec.unschedulable
        assert cluster.reader.read(ListNodes(60))[0].spec.unschedulable

    def test_pods_of_a_job_set_lag_unless_read_fresh(self, cluster: Simulation) -> None:
        assert cluster.reader.read(ListPods("default", "job-w0")) == ()
        cluster.clock.advance(5)
        assert cluster.reader.read(ListPods("default", "job-w0")) == ()
        fresh = cluster.reader.read(ListPods("default", "job-w0", fresh=True))
        assert [type(pod) for pod in fresh] == [Pod, Pod]
        assert [pod.status.phase for pod in fresh] == ["Running", "Running"]
        assert cluster.reader.read(ListPods("default", "job-w0")) == fresh
        cluster.clock.advance(60)
        assert [pod.status.phase for pod in cluster.reader.read(ListPods("default", "job-w0"))] == ["Succeeded"] * 2

    def test_logs_are_read_of_containers_that_started(self, cluster: Simulation) -> None:
        def log(pod: str, container: str = "node", **more: Any) -> Any:
            return cluster.reader.read(ReadLog("default", pod, container, **more))

        assert log("nobody") == Unreadable('pods "nobody" not found')
        cluster.clock.advance(1)
        pod = cluster.store.select(CORE, "Pod")[0].name
        assert log(pod).reason == f'container "node" in pod "{pod}" is waiting to start: ContainerCreating'
        cluster.clock.advance(30)
        assert log(pod, "other") == Unreadable(f"container other is not valid for pod {pod}")
        half = log(pod)
        cluster.clock.advance(60)
        whole = log(pod)
        assert isinstance(whole, Log)
        assert whole.content.startswith(half.content)
        assert b"iteration      100/     100" in whole.content
        assert log(pod, "").content == whole.content
        assert log(pod, limit_bytes=10) == Log(whole.content[:10], True)
        assert log(pod, tail_lines=1).content == whole.content.splitlines(keepends=True)[-1]

    def test_a_log_profile_is_at_most_half_a_minute_old(self, cluster: Simulation) -> None:
        profile = {"apiVersion": CRE, "kind": "LogProfile", "metadata": {"name": "p"}, "spec": {"a": 1}}
        assert cluster.reader.read(GetLogProfile("p")) is None
        entry = cluster.store.create(profile)
        assert cluster.reader.read(GetLogProfile("p")) is None
        cluster.clock.advance(31)
        assert cluster.reader.read(GetLogProfile("p")).spec == {"a": 1}
        cluster.store.update({**entry.obj, "spec": {"a": 2}})
        cluster.clock.advance(31)
        assert cluster.reader.read(GetLogProfile("p")).spec == {"a": 2}

    def test_errors_of_a_parent_come_newest_first(self) -> None:
        foreign = [{"apiVersion": f"x/v{number}", "kind": "X", "metadata": {"name": "x"}} for number in (1, 2)]
        hooks = Hooks({"c": lambda request: {"children": [foreign[min(1, len(hooks.requests) // 4)]]}})
        cluster = simulation(hooks, [controller("c", RUNS)])
        run = cluster.store.create(parent())
        cluster.run(600)
        errors = cluster.reader.read(ListEvents("default", "SyncError", run.uid))
        assert [error.message.rsplit(" ", 1)[1] for error in errors] == ["x/v2", "x/v1"]
        assert cluster.reader.read(ListEvents("default", "SyncError", "other")) == ()


class TestApplying:
    """Admission."""

    def test_what_admission_returns_is_stored(self) -> None:
        cluster = simulation(Hooks({}), [])
        cluster.apply([parent()], lambda operation, obj: {**obj, "spec": {"from": operation}})
        assert cluster.store.get(CRE, "WorkloadRun", "default", "run").obj["spec"] == {"from": "CREATE"}

    def test_what_it_refuses_is_not(self) -> None:
        cluster = simulation(Hooks({}), [])
        error = FieldError("spec.image", "FieldValueRequired", "image is required")
        with pytest.raises(Refused, match=r"spec\.image: image is required") as refused:
            cluster.apply([parent()], lambda operation, obj: (error,))
        assert refused.value.errors == (error,)
        assert cluster.store.find(CRE, "WorkloadRun", "default", "run") is None


class TestEnding:
    """When a simulation stops."""

    def test_it_ends_when_its_condition_holds(self) -> None:
        cluster = tiers(2, 1)
        report = finished(cluster)
        assert report.stopped == "done"
        assert phase(cluster) == "Done"

    def test_it_ends_when_only_periodic_resyncs_are_left(self) -> None:
        report = tiers(2, 1).run(48 * 3600)
        assert report.stopped == "idle"
        assert 60 < report.virtual_seconds < 120

    def test_it_ends_when_time_is_up(self) -> None:
        report = tiers(2, 1, Rule("Hang")).run(1000)
        assert (report.stopped, report.virtual_seconds) == ("until", 1000)

    def test_it_goes_on_where_it_stopped(self) -> None:
        cluster, whole = tiers(2, 2), tiers(2, 2)
        for until in range(0, 400, 7):
            report = cluster.run(until)
        assert report.objects == whole.run(48 * 3600).objects

    def test_a_hook_that_never_rests_is_given_up(self) -> None:
        hooks = Hooks({"c": lambda request: {"status": {"calls": len(hooks.requests)}}})
        cluster = simulation(hooks, [controller("c", RUNS)])
        cluster.store.create(parent())
        with pytest.raises(HotLoop, match="calls of c for default/run in"):
            cluster.run(48 * 3600, most_calls=500)


class TestReporting:
    """What a report says."""

    def test_it_holds_objects_events_and_costs(self) -> None:
        report = tiers(3, 1).run(3600)
        kinds = [(obj["apiVersion"], obj["kind"]) for obj in report.objects]
        assert kinds == sorted(kinds)
        assert (CORE, "Node") not in kinds
        assert json.loads(json.dumps(report.objects)) == list(report.objects)
        jobs = [item for item in report.writes if (item.actor, item.kind) == (ACTOR, "Job.cre.nvidia.com/v1alpha1")]
        assert {item.verb: item.requests for item in jobs}["create"] == 3
        workflow = next(item for item in report.hooks if item.controller == "cre-workflows")
        assert workflow.largest_request * workflow.calls >= workflow.request_bytes > 0
        assert (workflow.busiest_parent, workflow.busiest_calls) == ("default/run", workflow.calls)
        assert report.reads["ListPods"] > 0
        assert report.log_bytes > 0

    def test_a_hook_may_record_an_event_twice_under_one_name(self) -> None:
        hooks = Hooks({"c": lambda request: {}})
        cluster = simulation(hooks, [controller("c", RUNS)])
        event = {
            "apiVersion": CORE,
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "reason": "R",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "involvedObject": {"uid": "u"},
        }
        assert hooks.context is not None
        hooks.context.record(event)
        hooks.context.record(event)
        assert [item["reason"] for item in cluster.run(10).events] == ["R"]


class TestRepeating:
    """Determinism."""

    def test_equal_arguments_give_equal_reports(self) -> None:
        assert finished(tiers(4, 2, Rule("Failed", attempt=5))) == finished(tiers(4, 2, Rule("Failed", attempt=5)))

    def test_another_seed_changes_names_and_not_the_outcome(self) -> None:
        first, second = finished(tiers(2, 1, seed=1)), finished(tiers(2, 1, seed=2))
        assert first.objects != second.objects
        assert [obj["kind"] for obj in first.objects] == [obj["kind"] for obj in second.objects]


class TestGrowing:
    """Costs grow with the number of groups, not with its square."""

    def test_five_nodes_or_five_hundred_cost_nearly_the_same_a_group(self) -> None:
        small, large = measure(25, 1), measure(250, 1)
        assert large.writes / large.jobs < 1.1 * small.writes / small.jobs
        assert large.hook_calls / large.jobs < 1.2 * small.hook_calls / small.jobs

    def test_a_slow_pace_coalesces_more(self) -> None:
        calls = []
        for seconds in (0.01, 1.0):
            cluster = tiers(30, 1, pace=Pace(hook_seconds=seconds))
            report = finished(cluster)
            calls.append(next(item.calls for item in report.hooks if item.controller == "cre-workflows"))
        assert calls[1] < calls[0]

    def test_an_object_of_a_busy_parent_is_encoded_once_a_version(self) -> None:
        cluster = tiers(5, 1)
        finished(cluster)
        entry = cluster.store.select(TRAINER, "TrainJob")[0]
        assert entry.json is entry.json
        assert entry.fragment == json.dumps("default/" + entry.name).encode() + b":" + entry.json


def test_a_failing_group_leaves_the_others_alone() -> None:
    cluster = tiers(4, 1, Rule("Failed", nodes=frozenset({"gpu-0003"})))
    cluster.run(3600)
    failed = [job.name for job in cluster.store.select(TRAINER, "TrainJob") if is_failed(job.obj)]
    assert failed == ["run-g1-i1-w0"]


def is_failed(job: Object) -> bool:
    return any(item["type"] == "Failed" for item in job.get("status", {}).get("conditions", ()))
