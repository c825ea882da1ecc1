"""Who is blamed for a failure."""

from __future__ import annotations

import pytest

from sync_hooks.api.observed import Log
from sync_hooks.api.sync import Unreadable
from sync_hooks.execution.blame import TAIL_BYTES, blame, failure_log, failures, worker_hosts
from sync_hooks.execution.starting import can_start_nowhere
from tests.support.hooks import condition, failed_pod, pod

NODES = ("n1", "n2", "n3")


def judge(*pods, tail=""):
    return blame(failures(pods), pods, NODES, tail, worker_hosts("job", dict(enumerate(NODES))))


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


def launcher_failed(at: str = "2026-01-01T12:00:00Z", **status):
    return failed_pod("job-launcher-0-0-x", "n1", role="launcher", at=at, **status)


@pytest.mark.parametrize("exit_code", [143, 137, 255], ids=["terminated", "killed", "its sshd ended"])
def test_a_worker_that_died_after_the_launcher_had_failed_is_not_blamed(exit_code):
    late = failed_pod("b", "n2", exit_code=exit_code, at="2026-01-01T12:00:02Z")
    found = judge(launcher_failed(), late, pod("c", node="n3"))
    assert found.attribution == "Group"
    assert "pod job-launcher-0-0-x" in found.message
    tail = "mpirun noticed that process rank 9 with PID 0 on node job-node-0-2 exited on signal 6 (Aborted)."
    assert [node.name for node in judge(launcher_failed(), late, tail=tail).nodes] == ["n3"]


def test_a_worker_that_died_before_the_launcher_is_blamed():
    found = judge(launcher_failed("2026-01-01T12:00:03Z"), failed_pod("b", "n2", exit_code=255))
    assert [node.name for node in found.nodes] == ["n2"]


def ranks(exit_code: int, seconds_apart: int, nodes=NODES, why: str = "Error"):
    """One worker a node, each ending so many seconds after the one before."""
    return [
        failed_pod(f"p{place}", node, exit_code, f"2026-01-01T12:00:{place * seconds_apart:02}Z", why=why)
        for place, node in enumerate(nodes)
    ]


@pytest.mark.parametrize("why", ["Error", "StartError"])
def test_where_all_ranks_end_alike_within_seconds_it_is_chance_who_was_first(why):
    assert judge(*ranks(128, 1, why=why)).attribution == "Group"


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(ranks(1, 2), id="the last one later"),
        pytest.param([*ranks(1, 1)[:2], failed_pod("c", "n3", 7, "2026-01-01T12:00:02Z")], id="another code"),
        pytest.param([*ranks(1, 1)[:2], pod("c", node="n3")], id="one that goes on"),
    ],
)
def test_where_they_do_not_the_first_one_is_blamed(pods):
    assert [node.name for node in judge(*pods).nodes] == ["n1"]


@pytest.mark.parametrize("exit_code", [126, 127])
@pytest.mark.parametrize("nodes", [NODES, ("n1",)], ids=["a group", "a single node"])
def test_a_command_that_no_worker_can_run_blames_nobody(exit_code, nodes):
    found = blame(failures(ranks(exit_code, 9, nodes)), ranks(exit_code, 9, nodes), nodes, "", {})
    assert (found.attribution, found.nodes) == ("None", ())
    assert f"exited with {exit_code}" in found.message


def test_a_launcher_that_cannot_run_its_command_blames_nobody():
    found = judge(launcher_failed(exit_code=127), failed_pod("b", "n2", 143, "2026-01-01T12:00:02Z"))
    assert (found.attribution, found.nodes) == ("None", ())
    assert "pod job-launcher-0-0-x on node n1: container node exited with 127" in found.message


RUNC = "OCI runtime create failed: runc create failed: unable to start container process: error during container init:"
NO_PROGRAM = f'failed to create containerd task: {RUNC} exec: "dcgmi diag -r 3": executable file not found in $PATH'
NO_DEVICE = f"failed to create containerd task: {RUNC} nvidia-container-cli: initialization error: no such file"


def unstarted(node: str, says: str, at: str = "2026-01-01T12:00:00Z", role: str = "node"):
    return failed_pod(f"p-{role}-{node}", node, 128, at, role, "StartError", says)


@pytest.mark.parametrize("says", ["", NO_DEVICE], ids=["no word", "the GPU's runtime"])
def test_a_single_node_whose_container_cannot_be_started_is_blamed(says):
    pods = [unstarted("n1", says)]
    found = blame(failures(pods), pods, ("n1",), "", {})
    assert found.attribution == "Node"
    assert found.message.endswith(says or "exited with 128 (StartError)")


@pytest.mark.parametrize(
    ("says", "lacking"),
    [
        pytest.param(NO_PROGRAM, True, id="no such name"),
        pytest.param(f"{RUNC} container init was OOM-killed (memory limit too low?)", True, id="no memory to start in"),
        pytest.param(f'{RUNC} exec: "/opt/run": stat /opt/run: no such file or directory: unknown', True, id="no file"),
        pytest.param(f'{RUNC} exec: "/opt/run": permission denied', True, id="no program"),
        pytest.param(f'{RUNC} exec: "/opt": is a directory', True, id="a directory"),
        pytest.param(f'{RUNC} exec: "/opt/run": exec format error', True, id="another architecture"),
        pytest.param('runc create failed: msg="exec: \\"run\\": executable file not found"', True, id="quoted twice"),
        pytest.param("executable file `run` not found in $PATH: No such file or directory", True, id="crun"),
        pytest.param(NO_DEVICE, False, id="no driver"),
        pytest.param('exec: "nvidia-smi": executable file not found in $PATH', False, id="what the node brings"),
        pytest.param(
            'unable to retrieve OCI runtime error: exec: "runc": executable file not found', False, id="the runtime"
        ),
        pytest.param('error mounting "/a" to rootfs at "/b": no such file or directory', False, id="a mount"),
    ],
)
def test_what_starts_nowhere_is_told_from_a_node_that_cannot_start_containers(says, lacking):
    assert can_start_nowhere(says) is lacking


@pytest.mark.parametrize("nodes", [("n1",), ("n1", "n2")], ids=["a single node", "a group"])
def test_a_program_that_is_not_in_the_image_blames_nobody_in_the_runtimes_words(nodes):
    pods = [unstarted(node, NO_PROGRAM, f"2026-01-01T12:00:{place * 7:02}Z") for place, node in enumerate(nodes)]
    found = blame(failures(pods), pods, nodes, "", {})
    assert (found.attribution, found.nodes) == ("None", ())
    assert found.message.endswith('exec: "dcgmi diag -r 3": executable file not found in $PATH')


def test_workers_that_still_pulled_the_image_need_not_miss_the_program_too():
    creating = pod("b", node="n2", phase="Pending", containerStatuses=[{"name": "node", "state": {}}])
    assert judge(unstarted("n1", NO_PROGRAM), creating).attribution == "None"
    assert judge(unstarted("n1", NO_PROGRAM)).attribution == "None"


def test_a_node_that_alone_misses_the_program_is_blamed():
    going = pod("b", node="n2", containerStatuses=[{"name": "node", "state": {"running": {}}}])
    assert [node.name for node in judge(unstarted("n1", NO_PROGRAM), going).nodes] == ["n1"]
    ended = failed_pod("b", "n2", 143, "2026-01-01T12:00:09Z")
    assert [node.name for node in judge(unstarted("n1", NO_PROGRAM), ended).nodes] == ["n1"]


def test_a_launcher_that_runs_does_not_show_that_the_workers_have_their_program():
    runs = [{"name": "node", "state": {"running": {"startedAt": "2026-01-01T12:00:00Z"}}}]
    launcher = pod("l", node="n1", role="launcher", containerStatuses=runs)
    assert judge(unstarted("n1", NO_PROGRAM), launcher).attribution == "None"


def test_a_worker_that_has_not_started_while_the_others_run_names_its_node():
    found = judge(pod("a", node="n1"), pod("b", node="n2", phase="Pending"), pod("c", node="n3"))
    assert [(node.name, node.message) for node in found.nodes] == [("n2", "pod b on node n2 has not started")]


def test_where_no_worker_has_started_the_group_is_blamed_and_one_is_named():
    found = judge(*(pod(f"p-{node}", node=node, phase="Pending") for node in NODES))
    assert (found.attribution, found.nodes) == ("Group", ())
    assert found.message.endswith("pod p-n1 on node n1 has not started")


@pytest.mark.parametrize(("second", "attribution"), [(3, "Group"), (4, "Node")], ids=["at once", "one after another"])
def test_workers_that_all_end_alike_within_three_seconds_are_not_told_apart(second: int, attribution: str):
    ends = ("2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z", f"2026-01-01T12:00:0{second}Z")
    found = judge(*(failed_pod(node, node, at=at) for node, at in zip(NODES, ends, strict=True)))
    assert found.attribution == attribution


def test_a_disruption_that_did_not_come_is_no_excuse():
    called_off = condition("DisruptionTarget", "False", "PreemptionByScheduler")
    assert [node.name for node in judge(failed_pod("a", "n2", conditions=[called_off])).nodes] == ["n2"]


def test_a_worker_that_has_no_node_yet_names_none_as_stuck():
    found = judge(pod("a", node="n1"), pod("b", phase="Pending"))
    assert (found.attribution, found.nodes) == ("Group", ())


LAUNCHERS_OWN = [
    pytest.param(failed_pod("l", "n1", 137, role="launcher", why="OOMKilled"), "OOMKilled", id="out of memory"),
    pytest.param(unstarted("n1", "no device", role="launcher"), "no device", id="not started"),
    pytest.param(unstarted("n1", NO_PROGRAM, role="launcher"), "executable file not found", id="no mpirun"),
    pytest.param(
        pod("l", node="n1", role="launcher", phase="Failed", reason="Evicted", message="The node was low on memory."),
        "Evicted The node was low on memory.",
        id="evicted",
    ),
]


@pytest.mark.parametrize(("launcher", "said"), LAUNCHERS_OWN)
def test_a_launcher_that_ended_for_reasons_of_its_own_says_nothing_of_the_workers(launcher, said):
    pulling = pod("w", node="n2", phase="Pending")
    for pods in ([launcher], [launcher, pod("v", node="n1"), pulling]):
        found = judge(*pods)
        assert (found.attribution, found.nodes) == ("None", ())
        assert said in found.message


def test_a_program_that_mpirun_does_not_find_blames_nobody():
    words = (
        "mpirun was unable to find the specified executable file, and therefore\nNode: job-node-0-1\nExecutable: /a\n"
    )
    found = judge(launcher_failed(), pod("v", node="n1"), pod("w", node="n2"), tail=words)
    assert (found.attribution, found.nodes) == ("None", ())
    assert found.message.endswith("mpirun was unable to find the specified executable file; Executable: /a")
    noticed = "mpirun noticed that process rank 9 with PID 0 on node job-node-0-2 exited on signal 6 (Aborted)."
    assert [node.name for node in judge(launcher_failed(), tail=words + noticed).nodes] == ["n3"]


@pytest.mark.parametrize(("launcher", "said"), LAUNCHERS_OWN)
def test_a_worker_that_had_failed_before_is_blamed_all_the_same(launcher, said):
    failed = failed_pod("w", "n2", at="2026-01-01T11:59:00Z")
    assert [node.name for node in judge(launcher, failed).nodes] == ["n2"], said


def test_a_message_of_any_shape_becomes_one_line_that_keeps_its_end():
    found = judge(failed_pod("a", "n1", says="x" * 1000 + "\n\x1b[31mthe\tend\n"))
    assert found.message.endswith("x [31mthe end")
    assert len(found.message) < 600


def test_where_all_fail_at_once_the_whole_group_is_blamed_and_says_so():
    found = judge(*(failed_pod(f"p{node}", node) for node in NODES))
    assert (found.attribution, found.nodes) == ("Group", ())


def stuck(name: str, node: str, why: str = "CreateContainerError", role: str = "node", message: str = "no device"):
    state = {"waiting": {"reason": why, "message": message}}
    statuses = [{"name": "node", "state": state}]
    return pod(name, node=node, role=role, phase="Pending", containerStatuses=statuses)


def test_a_worker_that_never_started_while_others_did_is_blamed():
    found = judge(pod("job-launcher-0-0-x", node="n1", role="launcher"), stuck("a", "n2"), pod("b", node="n1"))
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n2"])
    assert "CreateContainerError no device" in found.message


def test_where_no_worker_started_no_node_is_singled_out():
    found = judge(stuck("a", "n1"), stuck("b", "n2"))
    assert found.attribution == "Group"
    assert "pod a, container node: CreateContainerError no device" in found.message


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([stuck("a", "n1", "ErrImagePull"), stuck("b", "n2", "ImagePullBackOff")], id="the image"),
        pytest.param([stuck("a", "n1", "CreateContainerConfigError")], id="a Secret that is not there"),
        pytest.param([stuck("a", "n1", "ErrImagePull", "launcher"), pod("b", node="n2")], id="the launcher's image"),
        pytest.param(
            [stuck(name, node, message=NO_PROGRAM) for name, node in zip("ab", NODES, strict=False)], id="the program"
        ),
    ],
)
def test_an_image_or_a_configuration_that_nothing_starts_with_blames_nobody_in_the_kubelets_words(pods):
    found = judge(*pods)
    assert (found.attribution, found.nodes) == ("None", ())
    assert f"pod a, container node: {pods[0].status.container_statuses[0].state.waiting.reason}" in found.message


def test_a_node_that_alone_cannot_pull_the_image_is_blamed():
    found = judge(stuck("a", "n2", "ImagePullBackOff"), pod("b", node="n1"))
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n2"])


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        pytest.param([pod("a", node="n1"), pod("b", node="n2")], "all 2 pods were still running", id="all"),
        pytest.param([pod("a", node="n1")], "the only pod was still running", id="one"),
        pytest.param([], "no failed pod is left", id="none is there"),
    ],
)
def test_of_a_workload_that_hung_it_is_said_how_its_pods_were_found(pods, said):
    found = judge(*pods)
    assert found.attribution == "Group"
    assert said in found.message


def test_a_preempted_pod_blames_nobody():
    gone = pod(
        "a", node="n1", phase="Failed", conditions=[condition("DisruptionTarget", reason="PreemptionByScheduler")]
    )
    assert judge(gone).attribution == "None"


def disturbed(at: str):
    target = condition("DisruptionTarget", reason="EvictionByEvictionAPI", at=at)
    return failed_pod("d", "n1", 137, "2026-01-01T12:10:00Z", conditions=[target])


def test_a_pod_that_was_evicted_after_another_had_failed_excuses_nobody():
    failed = failed_pod("b", "n2", at="2026-01-01T12:05:00Z")
    assert [node.name for node in judge(disturbed("2026-01-01T12:09:30Z"), failed).nodes] == ["n2"]
    assert judge(disturbed("2026-01-01T12:04:30Z"), failed).attribution == "None"


def test_the_failure_log_keeps_the_end_and_no_control_characters():
    failed = failures([failed_pod("a", "n1")])[0]
    written = failure_log(failed, Log(content=b"x" * 40_000 + b"\x1b[31mthe end\n"))
    assert written.tail.endswith("�[31mthe end\n")
    assert len(written.tail) == TAIL_BYTES


def test_the_failure_log_says_why_there_is_none():
    failed = failures([failed_pod("a", "n1")])[0]
    assert failure_log(failed, Unreadable("410 Gone")).tail == "(410 Gone)"
    unstarted_log = failure_log(failures([unstarted("n1", NO_PROGRAM)])[0], Unreadable("400 Bad Request"))
    assert unstarted_log.tail == f"{NO_PROGRAM}\n(400 Bad Request)"
    assert failure_log(None, None).reason == "PodNotFound"
