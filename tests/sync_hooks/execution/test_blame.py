"""Who is blamed for a failure."""

from __future__ import annotations

from sync_hooks.api.observed import Log
from sync_hooks.api.sync import Unreadable
from sync_hooks.execution.blame import blame, failure_log, failures, worker_hosts
from tests.support.hooks import condition, failed_pod, pod

NODES = ("n1", "n2", "n3")


def judge(*pods, tail=""):
    return blame(failures(pods), pods, NODES, tail, worker_hosts("job", NODES))


def test_the_worker_that_failed_names_its_node():
    found = judge(failed_pod("job-node-0-1-x", "n2"), pod("job-node-0-0-x", node="n1"))
    assert found.attribution == "Node"
    assert [node.name for node in found.nodes] == ["n2"]
    assert "pod job-node-0-1-x on node n2: container node exited with 1 (Error)" in found.message


def test_workers_that_died_later_are_not_blamed():
    first = failed_pod("a", "n3", at="2026-01-01T12:00:01Z")
    found = judge(failed_pod("b", "n1", at="2026-01-01T12:00:05Z"), first)
    assert [node.name for node in found.nodes] == ["n3"]


def test_workers_that_were_only_killed_are_not_blamed_even_when_they_ended_first():
    killed = failed_pod("a", "n1", exit_code=143, at="2026-01-01T12:00:00Z")
    found = judge(killed, failed_pod("b", "n2", exit_code=1, at="2026-01-01T12:00:09Z"))
    assert [node.name for node in found.nodes] == ["n2"]


def killed(name: str, node: str, why: str = "Error", **status):
    ended = {"terminated": {"exitCode": 137, "reason": why, "finishedAt": "2026-01-01T12:00:00Z"}}
    return pod(name, node=node, phase="Failed", containerStatuses=[{"name": "node", "state": ended}], **status)


def test_a_worker_that_was_killed_for_its_memory_is_the_cause_of_what_its_peers_die_of():
    late = failed_pod("b", "n2", exit_code=1, at="2026-01-01T12:00:05Z")
    assert [node.name for node in judge(killed("a", "n1", "OOMKilled"), late).nodes] == ["n1"]
    assert [node.name for node in judge(killed("a", "n1"), late).nodes] == ["n2"]


def test_a_pod_that_its_node_evicted_names_the_node_in_the_kubelets_words():
    evicted = killed("a", "n1", reason="Evicted", message="The node was low on memory.")
    found = judge(evicted, failed_pod("b", "n2", exit_code=1, at="2026-01-01T12:00:05Z"))
    assert [node.name for node in found.nodes] == ["n1"]
    assert "Evicted The node was low on memory." in found.message


def test_the_launchers_node_is_never_blamed():
    found = judge(failed_pod("job-launcher-0-0-x", "n1", role="launcher"))
    assert found.attribution == "Group"
    assert "could not be attributed" in found.message


def test_a_host_that_mpirun_names_is_blamed():
    pods = (failed_pod("job-launcher-0-0-x", "n1", role="launcher"),)  # JobSet has removed the workers
    tail = "mpirun noticed that process rank 9 with PID 0 on node job-node-0-2 exited on signal 6 (Aborted)."
    found = judge(*pods, tail=tail)
    assert found.attribution == "Node"
    assert [node.name for node in found.nodes] == ["n3"]


def test_where_all_fail_at_once_the_whole_group_is_blamed_and_says_so():
    found = judge(*(failed_pod(f"p{node}", node) for node in NODES))
    assert (found.attribution, found.nodes) == ("Group", ())


def stuck(name: str, node: str, **status):
    state = {"waiting": {"reason": "CreateContainerError", "message": "no device"}}
    return pod(name, node=node, phase="Pending", containerStatuses=[{"name": "node", "state": state}], **status)


def test_a_worker_that_never_started_while_others_did_is_blamed():
    found = judge(pod("job-launcher-0-0-x", node="n1", role="launcher"), stuck("a", "n2"), pod("b", node="n1"))
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n2"])
    assert "CreateContainerError no device" in found.message


def test_where_no_worker_started_no_node_is_singled_out():
    assert judge(stuck("a", "n1"), stuck("b", "n2")).attribution == "Group"


def test_a_preempted_pod_blames_nobody():
    gone = pod(
        "a", node="n1", phase="Failed", conditions=[condition("DisruptionTarget", reason="PreemptionByScheduler")]
    )
    assert judge(gone).attribution == "None"


def test_the_failure_log_keeps_the_end_and_no_control_characters():
    failed = failures([failed_pod("a", "n1")])[0]
    written = failure_log(failed, Log(content=b"x" * 40_000 + b"\x1b[31mthe end\n"))
    assert written.tail.endswith("�[31mthe end\n")
    assert len(written.tail) == 32 * 1024


def test_the_failure_log_says_why_there_is_none():
    failed = failures([failed_pod("a", "n1")])[0]
    assert failure_log(failed, Unreadable("410 Gone")).tail == "(410 Gone)"
    assert failure_log(None, None).reason == "PodNotFound"
