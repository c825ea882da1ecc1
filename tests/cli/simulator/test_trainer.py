"""Trainer, JobSet, scheduler and kubelets: what a TrainJob goes through, and how it may end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cli.simulator.entry import Entry, Object, with_metadata
from cli.simulator.errors import Forbidden, Invalid
from cli.simulator.kinds import BATCH, CORE, JOBSET, TRAINER
from cli.simulator.scenario import Rule
from cli.simulator.simulation import Simulation
from sync_hooks.api.sync import ReadLog
from tests.cli.simulator.cluster import Hooks, condition, live, parent, simulation, train_job, training_runtime

NODES = ("gpu-0000", "gpu-0001")


def cluster_of(*rules: Rule, mpi: bool = False, gpus: int = 8) -> Simulation:
    cluster = simulation(Hooks({}), [], rules=rules)
    cluster.store.create(training_runtime(mpi=mpi, gpus=gpus))
    return cluster


def ran(cluster: Simulation, name: str = "job-w0", *, nodes: tuple[str, ...] = NODES, mpi: bool = False) -> Simulation:
    cluster.store.create(train_job(name, nodes, mpi=mpi))
    cluster.run(3600)
    return cluster


def job_of(cluster: Simulation, name: str = "job-w0") -> Object:
    return cluster.store.get(TRAINER, "TrainJob", "default", name).obj


def pods(cluster: Simulation) -> list[Entry]:
    return cluster.store.select(CORE, "Pod")


def states(cluster: Simulation) -> dict[str, str]:
    """Phase of each pod by replicatedJob and index."""
    return {entry.name.split("-", 2)[2][:-6]: entry.obj["status"]["phase"] for entry in pods(cluster)}


class TestAdmission:
    """What Trainer refuses and fills in."""

    def test_a_train_job_needs_its_runtime(self) -> None:
        cluster = simulation(Hooks({}), [])
        with pytest.raises(Forbidden, match="specified trainingRuntime must be created before the TrainJob is created"):
            cluster.store.create(train_job("job", NODES))

    def test_defaults_are_those_of_the_schema(self) -> None:
        cluster = simulation(Hooks({}), [])
        runtime = training_runtime("r")
        del runtime["metadata"]["namespace"]
        cluster.store.create({**runtime, "kind": "ClusterTrainingRuntime"})
        job = train_job("job", NODES)
        job["spec"] = {"runtimeRef": {"name": "r"}}
        assert cluster.store.create(job).obj["spec"] == {
            "managedBy": "trainer.kubeflow.org/trainjob-controller",
            "suspend": False,
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "r"},
        }

    @pytest.mark.parametrize("name", ["0job", "job.x", "j" * 64])
    def test_a_name_is_a_dns_label_of_rfc_1035(self, name: str) -> None:
        with pytest.raises(Invalid, match="RFC 1035"):
            cluster_of().store.create(train_job(name, NODES))

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda job: job["spec"]["runtimePatches"][0].update(manager="me"), "domain-prefixed path"),
            (lambda job: patched(job).update(name="nobody"), "must not have replicated job"),
            (lambda job: containers(job, {"name": "x"}), "must not have container"),
            (lambda job: containers(job, {"name": "node", "env": [{"name": "A"}]}), "must not have envs"),
        ],
        ids=["manager", "replicated-job", "container", "env"],
    )
    def test_a_patch_must_fit_the_runtime(self, change: Callable[[Object], None], said: str) -> None:
        job = train_job("job", NODES)
        change(job)
        with pytest.raises(Forbidden, match=said):
            cluster_of().store.create(job)

    def test_the_workload_of_a_train_job_cannot_be_changed(self) -> None:
        cluster = cluster_of()
        entry = cluster.store.create(train_job("job", NODES))
        spec = {**entry.obj["spec"], "trainer": {"image": "other"}}
        with pytest.raises(Invalid, match="immutable"):
            cluster.store.update({**entry.obj, "spec": spec})

    def test_an_update_needs_the_runtime_too(self) -> None:
        cluster = cluster_of()
        entry = cluster.store.create(train_job("job", NODES))
        cluster.store.delete(cluster.store.get(TRAINER, "TrainingRuntime", "default", "runtime"))
        with pytest.raises(Forbidden):
            cluster.store.update(with_metadata(entry.obj, labels={"a": "b"}))

    def test_a_job_set_whose_pod_names_are_too_long_is_refused_two_layers_down(self) -> None:
        cluster = ran(cluster_of(), "j" * 60)
        assert "status" not in job_of(cluster, "j" * 60)
        assert pods(cluster) == []
        events = [entry.obj for entry in cluster.store.select(CORE, "Event")]
        assert "longer than 63 characters" in events[0]["message"]
        assert {event["reason"] for event in events} == {"TrainJobResourcesCreationFailed"}


def patched(job: Object) -> Object:
    spec = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    replicated: Object = spec["replicatedJobs"][0]
    return replicated


def containers(job: Object, container: Object) -> None:
    patched(job)["template"]["spec"]["template"]["spec"]["containers"] = [container]


class TestSuccess:
    """The usual way."""

    def test_a_train_job_completes_after_a_minute_with_the_words_of_trainer_and_job_set(self) -> None:
        cluster = ran(cluster_of())
        assert job_of(cluster)["status"] == {
            "conditions": [
                {
                    "type": "Complete",
                    "status": "True",
                    "reason": "AllJobsCompleted",
                    "message": "jobset completed successfully",
                    "lastTransitionTime": "2026-01-01T00:01:02Z",
                }
            ],
            "jobsStatus": [{"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}],
        }
        assert states(cluster) == {"node-0-0": "Succeeded", "node-0-1": "Succeeded"}

    def test_pods_sit_on_the_nodes_that_affinity_names_one_each(self) -> None:
        cluster = ran(cluster_of(gpus=0), nodes=("gpu-0003", "gpu-0001"))
        assert sorted(entry.obj["spec"]["nodeName"] for entry in pods(cluster)) == ["gpu-0001", "gpu-0003"]

    def test_pods_have_the_labels_of_job_set_and_of_the_job_controller(self) -> None:
        cluster = ran(cluster_of())
        job_set = cluster.store.get(JOBSET, "JobSet", "default", "job-w0")
        job = cluster.store.get(BATCH, "Job", "default", "job-w0-node-0")
        first = pods(cluster)[0]
        assert first.labels == {
            "cre.nvidia.com/job": "job",
            "jobset.sigs.k8s.io/jobset-name": "job-w0",
            "jobset.sigs.k8s.io/jobset-uid": job_set.uid,
            "jobset.sigs.k8s.io/replicatedjob-name": "node",
            "jobset.sigs.k8s.io/replicatedjob-replicas": "1",
            "jobset.sigs.k8s.io/job-index": "0",
            "jobset.sigs.k8s.io/restart-attempt": "0",
            "controller-uid": job.uid,
            "job-name": "job-w0-node-0",
            "batch.kubernetes.io/controller-uid": job.uid,
            "batch.kubernetes.io/job-name": "job-w0-node-0",
            "batch.kubernetes.io/job-completion-index": "0",
        }
        assert first.name.startswith("job-w0-node-0-0-")

    def test_labels_of_the_job_template_stay_on_the_job_as_job_set_leaves_them(self) -> None:
        cluster = ran(cluster_of())
        step = "trainer.kubeflow.org/trainjob-ancestor-step"
        assert cluster.store.get(BATCH, "Job", "default", "job-w0-node-0").labels[step] == "trainer"
        assert all(step not in entry.labels for entry in pods(cluster))

    def test_the_trainers_image_and_command_reach_the_ancestor_only(self) -> None:
        cluster = cluster_of(mpi=True)
        job = train_job("job-w0", NODES, mpi=True)
        job["spec"]["trainer"] |= {"command": ["mpirun"], "args": ["-N", "8"]}
        cluster.store.create(job)
        cluster.run(30)
        by_name = {entry.labels["jobset.sigs.k8s.io/replicatedjob-name"]: entry for entry in pods(cluster)}
        launcher, worker = (by_name[name].obj["spec"]["containers"][0] for name in ("launcher", "node"))
        assert (launcher["image"], launcher["command"], launcher["args"]) == ("busybox", ["mpirun"], ["-N", "8"])
        assert (worker["image"], "command" in worker) == ("i", False)

    def test_an_mpi_job_has_a_worker_a_node_and_a_launcher_that_waits_for_them(self) -> None:
        cluster = cluster_of(mpi=True)
        started: dict[str, str] = {}

        def note(change: object) -> None:
            for name, phase in states(cluster).items():
                if phase == "Running":
                    started.setdefault(name, cluster.clock.stamp())

        cluster.store.watch(note, "Pod")
        ran(cluster, mpi=True)
        assert sorted(started) == ["launcher-0-0", "node-0-0", "node-0-1"]
        assert started["launcher-0-0"] > started["node-0-1"]

    def test_when_the_launcher_is_done_the_workers_are_deleted_and_the_job_is_complete(self) -> None:
        cluster = ran(cluster_of(mpi=True), mpi=True)
        assert condition(job_of(cluster), "Complete") is not None
        assert states(cluster) == {"launcher-0-0": "Succeeded"}

    def test_objects_of_the_mpi_plugin_and_the_snapshot_belong_to_the_train_job(self) -> None:
        cluster = ran(cluster_of(mpi=True), mpi=True)
        uid = job_of(cluster)["metadata"]["uid"]
        made = {(entry.kind.kind, entry.name) for entry in cluster.store.dependents(uid)}
        assert made == {
            ("ConfigMap", "job-w0-mpi-hostfile"),
            ("ConfigMap", "job-w0-runtime-snapshot"),
            ("JobSet", "job-w0"),
            ("Secret", "job-w0-mpi-ssh-auth"),
        }

    def test_a_finished_train_job_needs_its_runtime_no_more(self) -> None:
        cluster = ran(cluster_of())
        cluster.store.delete(cluster.store.get(TRAINER, "TrainingRuntime", "default", "runtime"))
        cluster.run(7200)
        assert condition(job_of(cluster), "Complete") is not None

    def test_deletion_reaches_the_pods_and_running_ones_take_their_time(self) -> None:
        cluster = cluster_of()
        entry = cluster.store.create(train_job("job-w0", NODES))
        cluster.run(30)
        cluster.store.delete(entry)
        cluster.clock.advance(1)
        assert len(pods(cluster)) == 2
        cluster.clock.advance(60)
        assert pods(cluster) == []
        assert cluster.store.select(JOBSET, "JobSet") == []


class TestFailure:
    """Which pod fails, and what becomes of the others."""

    def test_the_first_pod_on_a_named_node_fails_and_the_other_pods_go(self) -> None:
        cluster = ran(cluster_of(Rule("Failed", nodes=frozenset({"gpu-0001"}), after=10, exit_code=3)))
        assert states(cluster) == {"node-0-1": "Failed"}
        failed = pods(cluster)[0]
        assert failed.obj["spec"]["nodeName"] == "gpu-0001"
        assert failed.obj["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
        said = condition(job_of(cluster), "Failed")
        assert said is not None
        assert (said["reason"], said["message"]) == (
            "FailedJobs",
            "jobset failed due to one or more job failures (first failed job: job-w0-node-0)",
        )

    def test_under_mpi_the_launcher_fails_with_the_worker_whose_pod_is_gone_soon_after(self) -> None:
        cluster = cluster_of(Rule("Failed", nodes=frozenset({"gpu-0001"}), exit_code=3), mpi=True)
        cluster.store.create(train_job("job-w0", NODES, mpi=True))
        cluster.run(
            3600, lambda: "Failed" in states(cluster).values() and condition(job_of(cluster), "Failed") is not None
        )
        assert states(cluster)["launcher-0-0"] == states(cluster)["node-0-1"] == "Failed"
        cluster.run(3600)
        assert states(cluster) == {"launcher-0-0": "Failed"}

    def test_under_mpi_the_launcher_names_the_host_that_was_lost(self) -> None:
        cluster = ran(cluster_of(Rule("Failed", nodes=frozenset({"gpu-0001"})), mpi=True), mpi=True)
        log = cluster.reader.read(ReadLog("default", pods(cluster)[0].name, "node"))
        assert b"on node job-w0-node-0-1 exited on signal 9" in log.content.splitlines()[-1]

    def test_under_mpi_nobody_but_the_launcher_fails_when_no_node_is_named(self) -> None:
        cluster = ran(cluster_of(Rule("Failed", exit_code=124), mpi=True), mpi=True)
        assert states(cluster) == {"launcher-0-0": "Failed"}
        state = pods(cluster)[0].obj["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (124, "Error")

    def test_an_evicted_pod_says_so(self) -> None:
        cluster = ran(cluster_of(Rule("Evicted", nodes=frozenset({"gpu-0000"}))))
        evicted = pods(cluster)[0].obj["status"]
        assert (evicted["phase"], evicted["reason"]) == ("Failed", "Evicted")
        assert evicted["conditions"][0]["type"] == "DisruptionTarget"
        assert condition(job_of(cluster), "Failed") is not None

    def test_a_pod_that_somebody_deletes_fails_the_job(self) -> None:
        cluster = cluster_of()
        cluster.store.create(train_job("job-w0", NODES))
        cluster.run(30)
        cluster.store.delete(pods(cluster)[0])
        cluster.run(3600)
        assert condition(job_of(cluster), "Failed") is not None
        assert condition(job_of(cluster), "Complete") is None

    def test_a_hanging_workload_runs_for_ever(self) -> None:
        cluster = ran(cluster_of(Rule("Hang")))
        assert set(states(cluster).values()) == {"Running"}
        assert "conditions" not in job_of(cluster)["status"]

    def test_another_attempt_and_another_iteration_have_their_own_rule(self) -> None:
        cluster = cluster_of(Rule("Failed", attempt=0), Rule("Failed", iteration=2))
        ran(cluster, "job-w0")
        ran(cluster, "job-w1")
        cluster.store.create(train_job("late-w1", NODES, labels={"cre.nvidia.com/iteration": "2"}))
        cluster.run(9000)
        outcomes = {
            name: condition(job_of(cluster, name), "Failed") is not None for name in ("job-w0", "job-w1", "late-w1")
        }
        assert outcomes == {"job-w0": True, "job-w1": False, "late-w1": True}

    def test_the_owner_job_tells_iteration_and_nodes(self) -> None:
        cluster = cluster_of(Rule("Failed", nodes=frozenset({"gpu-0003"}), iteration=2))
        owner = cluster.store.create(
            parent(
                "job",
                "Job",
                labels={"cre.nvidia.com/iteration": "2"},
                annotations={"cre.nvidia.com/group-nodes": "gpu-0003,gpu-0000"},
            )
        )
        job = train_job("job-w0", ("gpu-0000",))
        job["metadata"]["ownerReferences"] = [
            {"apiVersion": owner.kind.api_version, "kind": "Job", "name": "job", "uid": owner.uid, "controller": True}
        ]
        cluster.store.create(job)
        cluster.run(3600)
        assert condition(job_of(cluster), "Failed") is not None


class TestTraps:
    """What the engines do that a hook must know of."""

    def test_a_name_used_again_at_once_is_complete_without_a_pod(self) -> None:
        cluster = ran(cluster_of())
        old = job_of(cluster)
        cluster.clock.advance(60)
        cluster.store.delete(cluster.store.get(TRAINER, "TrainJob", "default", "job-w0"))
        cluster.clock.advance(0.1)
        born = cluster.clock.stamp()
        again = cluster.store.create(train_job("job-w0", NODES))
        cluster.run(7200)
        said = condition(job_of(cluster), "Complete")
        assert said is not None
        assert said["lastTransitionTime"] < born
        assert again.uid != old["metadata"]["uid"]
        assert pods(cluster) == []

    def test_a_name_used_again_after_the_collector_runs_properly(self) -> None:
        cluster = ran(cluster_of())
        cluster.store.delete(cluster.store.get(TRAINER, "TrainJob", "default", "job-w0"))
        cluster.clock.advance(30)
        ran(cluster)
        assert len(pods(cluster)) == 2

    def test_a_failed_train_job_runs_again_when_its_job_set_goes(self) -> None:
        cluster = ran(cluster_of(Rule("Failed")))
        cluster.store.delete(cluster.store.get(JOBSET, "JobSet", "default", "job-w0"))
        cluster.clock.advance(10)
        assert condition(job_of(cluster), "Failed") is None
        assert "Running" in states(cluster).values()

    def test_a_complete_one_does_not(self) -> None:
        cluster = ran(cluster_of())
        cluster.store.delete(cluster.store.get(JOBSET, "JobSet", "default", "job-w0"))
        cluster.clock.advance(60)
        assert condition(job_of(cluster), "Complete") is not None
        assert pods(cluster) == []


class TestWaiting:
    """Queues and full nodes."""

    def test_a_suspended_train_job_has_no_pods_until_it_is_resumed(self) -> None:
        cluster = cluster_of(Rule("Suspended", after=600))
        cluster.store.create(train_job("job-w0", NODES))
        cluster.run(300)
        said = condition(job_of(cluster), "Suspended")
        assert said is not None
        assert (said["status"], said["reason"], said["message"]) == ("True", "Suspended", "TrainJob is suspended")
        assert job_of(cluster)["status"]["jobsStatus"][0]["suspended"] == 1
        assert pods(cluster) == []
        cluster.run(3600)
        said = condition(job_of(cluster), "Suspended")
        assert said is not None
        assert (said["status"], said["reason"]) == ("False", "Resumed")
        assert condition(job_of(cluster), "Complete") is not None
        assert 600 + 60 < cluster.clock.time < 600 + 90

    def test_without_a_time_it_stays_suspended(self) -> None:
        cluster = ran(cluster_of(Rule("Suspended")))
        assert job_of(cluster)["spec"]["suspend"] is True
        assert pods(cluster) == []

    def test_a_running_train_job_that_is_suspended_loses_its_pods_and_runs_anew(self) -> None:
        cluster = cluster_of()
        cluster.store.create(train_job("job-w0", NODES))
        cluster.run(30)
        for suspend in (True, False):
            entry = cluster.store.get(TRAINER, "TrainJob", "default", "job-w0")
            cluster.store.update({**entry.obj, "spec": {**entry.obj["spec"], "suspend": suspend}})
            cluster.clock.advance(30)
            assert len(pods(cluster)) == (0 if suspend else 2)
        cluster.run(3600)
        assert condition(job_of(cluster), "Complete") is not None

    def test_an_unschedulable_workload_waits_and_says_why(self) -> None:
        cluster = cluster_of(Rule("Unschedulable", after=900))
        cluster.store.create(train_job("job-w0", NODES))
        cluster.run(300)
        waiting = pods(cluster)[0].obj["status"]
        assert waiting["phase"] == "Pending"
        said = waiting["conditions"][0]
        assert (said["type"], said["status"], said["reason"]) == ("PodScheduled", "False", "Unschedulable")
        cluster.run(3600)
        assert condition(job_of(cluster), "Complete") is not None
        assert 900 + 60 < cluster.clock.time < 900 + 90

    def test_without_a_time_it_stays_pending(self) -> None:
        assert set(states(ran(cluster_of(Rule("Unschedulable")))).values()) == {"Pending"}

    def test_two_workloads_on_one_node_run_after_each_other(self) -> None:
        cluster = cluster_of()
        cluster.store.create(train_job("a-w0", ("gpu-0000", "gpu-0001")))
        cluster.store.create(train_job("b-w0", ("gpu-0001", "gpu-0002")))
        cluster.run(30)
        pending = [entry for entry in pods(cluster) if entry.obj["status"]["phase"] == "Pending"]
        assert len(pending) == 1
        assert "2 Insufficient nvidia.com/gpu" in pending[0].obj["status"]["conditions"][0]["message"]
        cluster.run(3600)
        ends = [condition(job_of(cluster, name), "Complete") for name in ("a-w0", "b-w0")]
        assert ends[0] is not None
        assert ends[1] is not None
        assert ends[0]["lastTransitionTime"] < ends[1]["lastTransitionTime"]

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ({"unschedulable": True}, "node(s) were unschedulable"),
            ({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, "untolerated taint {k: v}"),
        ],
        ids=["cordoned", "tainted"],
    )
    def test_a_node_that_takes_nobody_is_named_by_its_reason(self, spec: Object, said: str) -> None:
        cluster = cluster_of()
        node = cluster.store.get(CORE, "Node", "", "gpu-0000")
        cluster.store.update({**node.obj, "spec": {**node.obj["spec"], **spec}})
        ran(cluster)
        pending = next(entry for entry in pods(cluster) if entry.obj["status"]["phase"] == "Pending")
        message = pending.obj["status"]["conditions"][0]["message"]
        assert said in message
        assert message.startswith("0/4 nodes are available: ")
        node = cluster.store.get(CORE, "Node", "", "gpu-0000")
        cluster.store.update({**node.obj, "spec": {}})
        cluster.run(7200)
        assert condition(job_of(cluster), "Complete") is not None

    def test_a_toleration_of_a_patch_lets_a_pod_in(self) -> None:
        cluster = cluster_of()
        node = cluster.store.get(CORE, "Node", "", "gpu-0000")
        cluster.store.update({**node.obj, "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}})
        job = train_job("job-w0", NODES)
        patched(job)["template"]["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
        cluster.store.create(job)
        cluster.run(3600)
        assert live(cluster, "TrainJob", "job-w0", TRAINER) is not None
        assert condition(job_of(cluster), "Complete") is not None
