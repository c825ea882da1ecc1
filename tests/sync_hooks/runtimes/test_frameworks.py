import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.api.framework import Framework
from sync_hooks.execution.mpirun import has_limit
from sync_hooks.runtimes.env import base_env, merge_env
from sync_hooks.runtimes.pods import worker_resources
from sync_hooks.runtimes.registry import RUNTIMES
from sync_hooks.runtimes.shell import MOST_ITEMS, fit
from sync_hooks.runtimes.workload import Gang, Workload

KAI = Gang("kai-scheduler", "high", "kai.scheduler/queue")
VOLCANO = Gang("volcano", "high", "example/queue")
FRAMEWORKS = {
    "torch": {"torch": {"script": "train.py", "args": ["--a"]}},
    "mpi": {
        "mpi": {"binary": "/bin/perf", "args": ["-b", "8"], "mpiArgs": ["--tag-output"], "mpirunPath": "/bin/mpirun"}
    },
    "exec": {"exec": {"command": ["run", "it"], "args": ["now"]}},
}
words = st.text(min_size=1, max_size=8)


def workload(framework="mpi", *, given=None, **keywords):
    parsed = Framework.model_validate(given or FRAMEWORKS[framework])
    return Workload(parsed, "image:1", keywords.pop("nodes", 2), keywords.pop("gpus", 8), 3600, **keywords)


def render(framework="mpi", **keywords):
    return RUNTIMES[framework](workload(framework, **keywords))


def jobs(rendered):
    return {job["name"]: job for job in rendered.runtime_spec["template"]["spec"]["replicatedJobs"]}


def pod(rendered, name):
    return jobs(rendered)[name]["template"]["spec"]["template"]["spec"]


def forwarded(args):
    return [args[index + 1] for index, word in enumerate(args) if word == "-x"]


@pytest.mark.parametrize("framework", sorted(RUNTIMES))
@pytest.mark.parametrize("gang", [None, KAI, VOLCANO], ids=["no gang", "kai", "volcano"])
def test_every_pod_fails_at_once_and_belongs_to_the_gang(framework, gang):
    rendered = render(framework, gang=gang)
    assert tuple(jobs(rendered)) == rendered.replicated_jobs
    for job in jobs(rendered).values():
        spec = job["template"]["spec"]
        assert spec["backoffLimit"] == 0
        assert spec["parallelism"] == spec["completions"]
        assert spec["template"]["spec"]["restartPolicy"] == "Never"
        assert spec["template"]["spec"].get("schedulerName") == (gang.scheduler_name if gang else None)
        assert spec["template"].get("metadata") == ({"labels": gang.labels} if gang else None)


def test_policies_are_those_that_trainer_2_2_and_2_3_take():
    assert render("torch").runtime_spec["mlPolicy"] == {"numNodes": 2, "torch": {}}
    assert render("exec").runtime_spec["mlPolicy"] == {"numNodes": 2}
    assert render("mpi").runtime_spec["mlPolicy"]["numNodes"] == 1


@pytest.mark.parametrize(
    ("given", "command", "args"),
    [
        ({"torch": {"script": "t.py", "args": ["-x"]}}, ("torchrun",), ("t.py", "-x")),
        ({"torch": {"module": "a.b"}}, ("torchrun",), ("-m", "a.b")),
        ({"exec": {"command": ["a", "b"], "args": ["c"]}}, ("a", "b"), ("c",)),
        ({"exec": {"command": ["a"]}}, ("a",), ()),
    ],
)
def test_the_command_is_what_the_framework_starts(given, command, args):
    rendered = render(next(iter(given)), given=given)
    assert (rendered.command, rendered.args) == (command, args)


def test_mpirun_ends_a_minute_after_the_time_limit():
    assert render("mpi").command == ("timeout", "3660", "/bin/mpirun")


@pytest.mark.parametrize("lines", [(), ("ulimit -l unlimited",)], ids=["as it is", "in a script"])
def test_the_time_limit_of_mpirun_is_known_again_when_it_ends(lines):
    limited = [has_limit([*command, *args]) for command, args in (_fitted(name, lines) for name in ("mpi", "exec"))]
    assert limited == [True, False]


def _fitted(framework, lines):
    rendered = render(framework)
    return fit(rendered.command, rendered.args, lines)


@pytest.mark.parametrize(("gang", "gated"), [(None, True), (VOLCANO, True), (KAI, False)])
def test_the_launcher_starts_after_the_workers_except_under_kai(gang, gated):
    launcher = jobs(render("mpi", gang=gang))["launcher"]
    assert launcher.get("dependsOn") == ([{"name": "node", "status": "Ready"}] if gated else None)
    assert "hostfile" in launcher["template"]["spec"]["template"]["spec"]["initContainers"][-1]["args"][0]


def test_only_the_launcher_takes_image_and_command_of_the_trainjob():
    rendered = jobs(render("mpi", gang=KAI))
    label = "trainer.kubeflow.org/trainjob-ancestor-step"
    assert rendered["launcher"]["template"]["metadata"]["labels"][label] == "trainer"
    assert label not in rendered["node"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("framework", sorted(RUNTIMES))
def test_the_users_env_volumes_and_init_containers_are_in_every_pod(framework):
    variable = {"name": "MINE", "value": "1"}
    volume, mount = {"name": "data", "emptyDir": {}}, {"name": "data", "mountPath": "/data"}
    init = {"name": "fetch", "image": "fetch:1"}
    rendered = render(framework, user_env=[variable], volumes=[volume], volume_mounts=[mount], init_containers=[init])
    for name in rendered.replicated_jobs:
        spec = pod(rendered, name)
        assert variable in spec["containers"][0]["env"]
        assert volume in spec["volumes"]
        assert mount in spec["containers"][0]["volumeMounts"]
        assert spec["initContainers"][0] == init


def test_base_variables_come_in_order_and_the_users_move_last():
    names = [variable["name"] for variable in base_env(mnnvl=True)]
    assert names == [
        "NCCL_DEBUG",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_NVLS_ENABLE",
        "NCCL_CUMEM_ENABLE",
        "NCCL_NET_GDR_C2C",
        "NCCL_NET_GDR_LEVEL",
        "NCCL_P2P_NET_CHUNKSIZE",
        "NCCL_SHM_DISABLE",
        "NCCL_MNNVL_ENABLE",
        "NCCL_SOCKET_IFNAME",
    ]
    merged = merge_env(base_env(mnnvl=True), [{"name": "B", "value": "1"}, {"name": "NCCL_DEBUG", "value": "WARN"}])
    assert [variable["name"] for variable in merged] == [*names[1:], "B", "NCCL_DEBUG"]


@given(st.lists(st.fixed_dictionaries({"name": st.sampled_from(["A", "B", "NCCL_DEBUG"]), "value": words}), max_size=6))
def test_each_name_stands_once_with_the_users_last_value(user):
    merged = merge_env(base_env(mnnvl=False), user)
    names = [variable["name"] for variable in merged]
    assert len(set(names)) == len(names)
    last = {variable["name"]: variable for variable in user}
    assert [variable for variable in merged if variable["name"] in last] == [
        variable for variable in merged if variable in last.values()
    ]
    assert {variable["name"] for variable in user} <= set(names)


@pytest.mark.parametrize(
    ("resources", "gpus", "expected"),
    [
        (None, 8, {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}}),
        ({}, 4, {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}),
        (
            {"limits": {"memory": "1Gi"}},
            8,
            {"limits": {"memory": "1Gi", "nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
        ),
        ({"requests": {"nvidia.com/gpu": "0"}}, 8, {"requests": {"nvidia.com/gpu": "0"}}),
        ({"limits": {"cpu": "1"}}, 0, {"limits": {"cpu": "1"}}),
    ],
    ids=["nothing given", "empty", "GPUs are added", "GPUs named by the user stay", "no GPUs known"],
)
def test_gpus_are_requested_unless_the_user_names_them(resources, gpus, expected):
    assert worker_resources(resources, gpus) == expected


def test_every_variable_is_forwarded_once_and_the_nearest_word_wins():
    rendered = render(
        "mpi",
        given={
            "mpi": {"binary": "/b", "mpirunPath": "/m", "mpiArgs": ["-x", "NCCL_ALGO=Ring", "--tag-output"]},
        },
        user_env=[
            {"name": "NCCL_ALGO", "value": "Tree"},
            {"name": "NCCL_PROTO", "value": "LL"},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
            {"name": "EMPTY"},
        ],
        platform_mpi_args=[
            "-x",
            "NCCL_PROTO=Simple",
            "-x",
            "NCCL_DEBUG=TRACE",
            "-x",
            "NCCL_ALGO=NVLS",
            "--mca",
            "a",
            "b",
        ],
    )
    operands = forwarded(rendered.args)
    names = [operand.partition("=")[0] for operand in operands]
    assert len(set(names)) == len(names)
    assert {"NCCL_ALGO=Ring", "NCCL_PROTO=LL", "NCCL_DEBUG=TRACE", "SECRET", "EMPTY=", "NCCL_SHM_DISABLE=1"} <= set(
        operands
    )
    assert rendered.args[-1] == "/b"
    assert rendered.args.index("--mca", 5) < rendered.args.index("--tag-output")


@given(words, st.lists(words, max_size=5), st.lists(words, max_size=2))
def test_a_folded_command_runs_as_if_it_were_not_folded(first, args, lines):
    words_given = [word.replace("\0", "") or "x" for word in (first, *args)]
    words_given = [word.encode("utf-8", "ignore").decode() or "x" for word in words_given]
    command, folded = fit(["printf", "%s\\0"], words_given, ["true"] * len(lines))
    output = subprocess.run([*command, *folded], capture_output=True, check=True).stdout
    assert output == b"".join(word.encode() + b"\0" for word in words_given)


def test_lines_run_before_the_command_in_its_own_shell():
    command, args = fit(["sh", "-c", 'echo "${GONE-unset}"'], [], ["unset GONE"])
    assert command == ["/bin/bash", "-c"]
    output = subprocess.run(
        [*command, *args], capture_output=True, check=True, env={"GONE": "here", "PATH": "/usr/bin:/bin"}
    )
    assert output.stdout == b"unset\n"


def test_a_list_that_the_trainjob_does_not_take_becomes_one_script():
    assert fit(["a"], ["b"], []) == (["a"], ["b"])
    command, args = fit(["echo"], ["x"] * (MOST_ITEMS + 1), [])
    assert (command, len(args)) == (["sh", "-c"], 1)


CHECKS = [
    pytest.param({"limits": {"nvidia.com/gpu": "8"}}, False, id="GPUs"),
    pytest.param({"requests": {"vpc.amazonaws.com/efa": "1"}}, False, id="interfaces"),
    pytest.param({"claims": [{"name": "gpus"}]}, False, id="a claim"),
    pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, True, id="what every node has"),
]


@pytest.mark.parametrize(("resources", "on_the_launcher"), CHECKS)
def test_the_launcher_asks_for_no_devices_that_its_own_workers_hold(resources, on_the_launcher):
    check = {"name": "check", "image": "x", "resources": resources}
    rendered = render("mpi", init_containers=(check,))
    assert check in pod(rendered, "node")["initContainers"]
    assert (check in pod(rendered, "launcher")["initContainers"]) is on_the_launcher
