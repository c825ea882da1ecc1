"""Laws of planning: nothing is lost, nothing depends on order, names are legal, the nearest word wins."""

from __future__ import annotations

import re
import shlex

from hypothesis import given, settings
from hypothesis import strategies as st

from sync_hooks.api.job import JobSpec
from sync_hooks.api.limits import RUN_NAMES
from sync_hooks.api.observed import Taint
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable, decode, encode
from sync_hooks.planning.trainjob import render_train_job
from tests.properties.run_names import LONG_NAMES, names
from tests.support.nodes import node
from tests.support.runs import FRAMEWORKS, run_spec

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LONGEST_POD_SUFFIX = "-launcher-0-0-abcde"
RACK = "topology.k8s.aws/network-node-layer-1"

run_names = names() | st.sampled_from([name for name in LONG_NAMES if len(name) <= RUN_NAMES.longest])
products = st.sampled_from(["NVIDIA-H100-80GB-HBM3", "NVIDIA-GB200", "NVIDIA-GB300", "NVIDIA-L40S", None])


FLAWS = st.fixed_dictionaries(
    {},
    optional={
        "platform": st.sampled_from(["aws", "gcp"]),
        "product": products,
        "gpus": st.sampled_from(["4", "7", "0", None]),
        "resources": st.just({"vpc.amazonaws.com/efa": "1"}),
        "cordoned": st.booleans(),
        "ready": st.sampled_from(["True", "Unknown"]),
        "taints": st.just((Taint(key="dedicated", value="x", effect="NoSchedule"),)),
    },
)


@st.composite
def clusters(draw):
    """Up to twelve nodes of one product, some of them with flaws, some with a rack."""
    common = {"product": draw(products), "resources": {"vpc.amazonaws.com/efa": "32"}}
    return [
        node(
            f"gpu-{number:02d}",
            **{
                **common,
                "labels": draw(st.sampled_from([{RACK: "r1"}, {RACK: "r2"}, {}])),
                **(draw(FLAWS) if draw(st.integers(0, 5)) == 5 else {}),
            },
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@st.composite
def specs(draw):
    """Runs of every framework with the parts that shape a plan."""
    framework = draw(st.sampled_from(sorted(FRAMEWORKS)))
    optional = {
        "orchestration": st.fixed_dictionaries(
            {},
            optional={
                "testScale": st.sampled_from(["intra-node", "intra-rack", "full-scale"]),
                "placement": st.sampled_from(["Pinned", "Unpinned"]),
                "repeatCount": st.integers(1, 3),
                "timeoutPerJob": st.sampled_from(["90s", "1h30m"]),
            },
        ),
        "gpusPerNode": st.integers(1, 8),
        "mlnxPerNode": st.integers(0, 4),
        "enableMNNVL": st.booleans(),
        "checkpoint": st.just({"storageSize": "1Gi"}),
        "config": st.just({"inline": {"a": "b"}}),
        "gangScheduler": st.fixed_dictionaries({"schedulerName": st.sampled_from(["kai-scheduler", "volcano"])}),
        "env": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["NCCL_DEBUG", "FI_PROVIDER", "MINE"]), "value": st.text("abc", max_size=3)}
            ),
            max_size=3,
            unique_by=lambda variable: variable["name"],
        ),
    }
    fields = draw(st.fixed_dictionaries({"numNodes": st.integers(1, 4)}, optional=optional))
    return run_spec(framework, **fields)


@settings(deadline=None)
@given(specs(), clusters(), run_names)
def test_every_targeted_node_has_one_home_or_one_reason(spec, cluster, name):
    result = build(RunIdentity(name, "default"), spec, cluster)
    present = {one.name for one in cluster}
    if isinstance(result, Unplannable):
        assert result.message
        assert {one.name for one in result.exclusions} <= present
        return
    home = [member for group in result.groups for member in group.nodes if member not in group.lent]
    home += result.candidates
    excluded = [member for member, reason in result.exclusions if reason]
    assert sorted([*home, *excluded]) == sorted(present)
    assert result.targeted == len(present)
    assert list(result.exclusions) == sorted(result.exclusions)


@settings(deadline=None)
@given(specs(), clusters(), st.randoms())
def test_a_plan_does_not_depend_on_the_order_of_nodes(spec, cluster, random):
    identity = RunIdentity("demo", "default")
    first = build(identity, spec, cluster)
    shuffled = list(cluster)
    random.shuffle(shuffled)
    assert build(identity, spec, shuffled) == first
    if isinstance(first, Plan):
        assert decode(encode(first)) == first


@settings(deadline=None)
@given(specs(), clusters(), run_names, st.integers(1, 1000), st.integers(0, 10), st.integers(0, 100))
def test_every_name_is_legal_and_used_once(spec, cluster, name, iteration, retry, attempt):
    identity = RunIdentity(name, "default")
    plan = build(identity, spec, cluster)
    if isinstance(plan, Unplannable):
        return
    used: list[tuple[str, str]] = []
    for group in range(len(plan.groups)):
        job = render_job(plan, identity, name, group, iteration, retry)
        JobSpec.model_validate(job["spec"])
        metadata = job["metadata"]
        train_job = render_train_job(metadata["name"], "default", job["spec"], metadata["labels"], attempt)
        own = [(one["kind"], one["metadata"]["name"]) for one in job["spec"].get("dependencies", ())]
        used += [("Job", metadata["name"]), ("TrainJob", train_job["metadata"]["name"]), *own]
        assert DNS_1035.fullmatch(train_job["metadata"]["name"])
        assert len(train_job["metadata"]["name"] + LONGEST_POD_SUFFIX) <= 63
        for value in (*metadata["labels"].values(), *train_job["metadata"]["labels"].values()):
            assert LABEL_VALUE.fullmatch(value)
            assert len(value) <= 63
    assert len(set(used)) == len(used)
    assert all(len(used_name) <= 63 for _, used_name in used)


@settings(deadline=None)
@given(specs(), clusters())
def test_the_users_variable_wins_everywhere(spec, cluster):
    plan = build(RunIdentity("demo", "default"), spec, cluster)
    if isinstance(plan, Unplannable):
        return
    own = {variable["name"]: variable for variable in spec.env or ()}
    trainer = plan.job["spec"]["workload"]["trainJob"]["trainer"]
    runtime = plan.runtime or plan.job["spec"]["dependencies"][0]
    lists = [trainer.get("env", [])]
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        lists += [one["env"] for one in job["template"]["spec"]["template"]["spec"]["containers"]]
        assert set(own) <= {variable["name"] for variable in lists[-1]}
    for variables in lists:
        found = [variable["name"] for variable in variables]
        assert len(set(found)) == len(found)
        assert all(variable == own.get(variable["name"], variable) for variable in variables)
    if spec.framework.mpi:
        folded = len(trainer["args"]) == 1  # lines run before the command, so that it is one script
        words = shlex.split(trainer["args"][0].splitlines()[-1]) if folded else trainer["args"]
        operands = {word.partition("=")[0]: word for word in words if "=" in word}
        assert all(operands[name] == f"{name}={variable['value']}" for name, variable in own.items())
