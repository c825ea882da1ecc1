"""Trainer, JobSet, scheduler and kubelets: what a TrainJob goes through, and how it may end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cli.simulator.entry import Object, with_metadata
from cli.simulator.errors import Forbidden, Invalid
from cli.simulator.kinds import BATCH, CORE, JOBSET, TRAINER
from tests.cli.simulator.cluster import Hooks, condition, simulation, train_job, training_runtime
from tests.cli.simulator.train_jobs import NODES, cluster_of, containers, job_of, patched, pods, ran, states


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
