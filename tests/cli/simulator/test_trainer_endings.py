"""How workloads fail, mislead and wait."""

from __future__ import annotations

import pytest

from cli.simulator.entry import Object
from cli.simulator.kinds import CORE, JOBSET, TRAINER
from cli.simulator.scenario import Rule
from sync_hooks.api.sync import ReadLog
from tests.cli.simulator.cluster import condition, live, parent, train_job
from tests.cli.simulator.train_jobs import NODES, cluster_of, job_of, patched, pods, ran, states


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
