"""Every row of the platform table: it loads, says why, and does what it says, for every framework it is for."""

import itertools

import pytest

from sync_hooks.api.framework import Framework
from sync_hooks.cluster.defaults import known_architectures, node_shape
from sync_hooks.cluster.platform import PLATFORMS
from sync_hooks.overrides.apply_row import apply_row
from sync_hooks.overrides.draft import Draft, Naming
from sync_hooks.overrides.rows import (
    Resolved,
    effects_of,
    fabric_needs,
    platform_mpi_args,
    rack_key,
    table_fabric,
    topology_key,
)
from sync_hooks.overrides.table import rows_of, table_platforms
from sync_hooks.runtimes.registry import RUNTIMES
from sync_hooks.runtimes.workload import Workload

ROWS = sorted({source: row for platform in table_platforms() for source, row in rows_of(platform)}.items())
NAMING = Naming("demo", "demo", "default", {"app": "demo"}, 2)
FRAMEWORKS = {
    "torch": {"torch": {"script": "train.py"}},
    "mpi": {"mpi": {"binary": "/bin/perf", "mpirunPath": "/bin/mpirun"}},
    "exec": {"exec": {"command": ["true"]}},
}


def resolved(platform, architecture, framework="exec", **keywords):
    shape = node_shape(architecture, platform)
    defaults = {"gpus": shape.gpus, "nics": shape.nics, "own_nics": None, "nic_resource": "rdma/hca", "mnnvl": True}
    return Resolved(platform, architecture, framework, **{**defaults, **keywords})


def draft(framework="exec"):
    given = Framework.model_validate(FRAMEWORKS[framework])
    spec = RUNTIMES[framework](Workload(given, "image", 2, 8, 60)).runtime_spec
    trainer = {"numNodes": 2}
    job = {"metadata": {}, "spec": {"workload": {"trainJob": {"trainer": trainer}}}}
    return Draft(job, {"metadata": {"name": "demo-runtime"}, "spec": spec})


def worker(changed):
    jobs = changed.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    template = next(job["template"]["spec"]["template"] for job in jobs if job["name"] == "node")
    return template, next(one for one in template["spec"]["containers"] if one["name"] == "node")


@pytest.mark.parametrize(("source", "row"), ROWS, ids=[source for source, _ in ROWS])
def test_a_row_says_why_and_does_something(source, row):
    assert len(row.why) > 20
    platform = source.partition("/")[0]
    platform = "aws" if platform == "any" else platform
    for architecture, framework in itertools.product(
        row.architectures or known_architectures(), row.frameworks or FRAMEWORKS
    ):
        gpus = {"gpus": row.gpus_per_node[0]} if row.gpus_per_node else {}
        effects = [
            one for one in effects_of(resolved(platform, architecture, framework, **gpus)) if one.source == source
        ]
        assert len(effects) == 1
        before = draft(framework)
        applied = apply_row(before, effects[0], NAMING)
        without_interfaces = row.fabric is not None and not effects[0].fabric
        assert applied.changed or row.topology_key or without_interfaces
        assert apply_row(before, effects[0], NAMING) == applied
        again = apply_row(applied.draft, effects[0], NAMING)
        assert again.draft == applied.draft


def test_names_are_unique_within_a_platform():
    for platform in table_platforms():
        sources = [source for source, _ in rows_of(platform)]
        assert len(set(sources)) == len(sources)


def test_the_table_speaks_of_known_platforms_and_architectures_only():
    assert set(table_platforms()) <= set(PLATFORMS)
    named = {architecture for _, row in ROWS for architecture in row.architectures or ()}
    assert named <= set(known_architectures())


@pytest.mark.parametrize(
    ("platform", "architecture", "key"),
    [
        ("aws", "gb200", "topology.k8s.aws/network-node-layer-1"),
        ("gcp", "gb300", "cloud.google.com/gce-topology-block"),
        ("azure", "gb200", "kubernetes.azure.com/ppg"),
        ("onprem", "gb200", "nvidia.com/gpu.clique"),
        ("oci", "gb300", "nvidia.com/gpu.clique"),
        ("aws", "h100", ""),
    ],
)
def test_only_nvlink_racks_are_followed_unasked(platform, architecture, key):
    assert topology_key(platform, architecture) == key


def test_a_rack_has_a_label_on_some_platforms():
    assert rack_key("aws") == "topology.k8s.aws/network-node-layer-1"
    assert rack_key("forge") == ""


@pytest.mark.parametrize(
    ("platform", "architecture", "needs"),
    [
        ("aws", "h100", {"vpc.amazonaws.com/efa": 32}),
        ("aws", "gb200", {"vpc.amazonaws.com/efa": 4}),
        ("aws", "gb300", {}),
        ("gcp", "gb200", {f"networking.gke.io.networks/rdma-{number}": 1 for number in range(4)}),
        ("gcp", "h100", {}),
        ("azure", "h100", {"nvidia.com/mlnxnics": 8}),
        ("azure", "l40", {"nvidia.com/mlnxnics": 4}),
        ("azure", "rtxpro6000", {}),
        ("togetherai", "b200", {"nvidia.com/mlnxnics": 8}),
        ("mistral", "gb300", {"rdma/ib": 1}),
        ("onprem", "gb200", {"rdma/hca": 8}),
        ("onprem", "b300", {"rdma/hca": 8}),
        ("onprem", "h100", {}),
        ("oci", "gb200", {}),
    ],
)
def test_each_node_must_offer_the_fabric_of_its_platform(platform, architecture, needs):
    assert fabric_needs(effects_of(resolved(platform, architecture))) == needs
    shape = node_shape(architecture, platform)
    assert table_fabric(platform, architecture, shape.gpus, shape.nics, "rdma/hca") == needs


@pytest.mark.parametrize("platform", ["aws", "gcp", "azure", "togetherai", "mistral", "onprem", "nscale"])
@pytest.mark.parametrize("architecture", known_architectures())
def test_zero_interfaces_drop_requests_claims_and_attachments(platform, architecture):
    rows = effects_of(resolved(platform, architecture, own_nics=0, nics=0))
    assert fabric_needs(rows) == {}
    assert not any(row.fabric or row.pod_annotations for row in rows)
    assert all(claim.name == "gpu" for row in rows for claim in row.claims)


def test_the_runs_own_number_of_interfaces_replaces_the_tables():
    assert fabric_needs(effects_of(resolved("aws", "h100", own_nics=1))) == {"vpc.amazonaws.com/efa": 1}
    claims = [claim for row in effects_of(resolved("aws", "gb300", own_nics=2)) for claim in row.claims]
    assert [(claim.name, claim.count) for claim in claims] == [("roce-channel", 2)]


def test_an_unknown_fabric_resource_is_not_requested():
    assert fabric_needs(effects_of(resolved("onprem", "gb200", nic_resource=""))) == {}


def test_without_multi_node_nvlink_there_is_no_compute_domain():
    assert any(row.compute_domain for row in effects_of(resolved("aws", "gb200")))
    assert not any(row.compute_domain for row in effects_of(resolved("aws", "gb200", mnnvl=False)))


def test_under_mpi_variables_of_a_row_reach_the_ranks_and_later_rows_come_first():
    args = platform_mpi_args(effects_of(resolved("aws", "gb300", "mpi")))
    assert args[:3] == ("--mca", "orte_keep_fqdn_hostnames", "true")
    assert args[-2:] == ("-x", "NCCL_NET_PLUGIN=none")
    fastrak = platform_mpi_args(effects_of(resolved("gcp", "h100", "mpi")))
    assert "NCCL_FASTRAK_CTRL_DEV=eth0" in fastrak
    assert fastrak.count("-x") == 29


def test_the_users_variable_takes_the_place_of_a_rows():
    secret = {"name": "NCCL_ALGO", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}
    mine = {"name": "NCCL_PROTO", "value": "LL"}
    rows = effects_of(resolved("gcp", "h100", "mpi", user_env=[secret, mine, {"name": "OTHER", "value": "1"}]))
    env = [variable for row in rows for variable in row.env]
    assert secret in env
    assert mine in env
    assert "OTHER" not in {variable["name"] for variable in env}
    assert {"NCCL_ALGO", "NCCL_PROTO=LL"} <= set(platform_mpi_args(rows))


@pytest.mark.parametrize(("mnnvl", "value"), [(True, "1"), (False, "0")])
def test_the_resolved_nvlink_switch_is_written_into_variables(mnnvl, value):
    rows = effects_of(resolved("onprem", "gb200", "torch", mnnvl=mnnvl))
    assert {"name": "NCCL_MNNVL_ENABLE", "value": value} in [variable for row in rows for variable in row.env]


def test_capabilities_are_added_to_those_that_are_there():
    before = draft("mpi")
    for row in effects_of(resolved("aws", "h100", "mpi")):
        before = apply_row(before, row, NAMING).draft
    assert worker(before)[1]["securityContext"]["capabilities"]["add"] == ["IPC_LOCK", "SYS_CHROOT"]


def test_claimed_gpus_are_not_requested_as_well():
    before = draft()
    for row in effects_of(resolved("nscale", "gb300")):
        before = apply_row(before, row, NAMING).draft
    resources = worker(before)[1]["resources"]
    assert "nvidia.com/gpu" not in {**resources["limits"], **resources["requests"]}
    assert [claim["name"] for claim in resources["claims"]] == ["compute-domain", "gpu", "rdma"]
    requests = {
        known["metadata"]["name"]: known["spec"]["spec"]["devices"]["requests"]
        for known in before.objects
        if known["kind"] == "ResourceClaimTemplate"
    }
    assert requests["demo-gpu"] == [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}]


def test_attachments_stand_on_the_pod_where_the_platform_reads_them():
    before = draft()
    for row in effects_of(resolved("gcp", "gb200")):
        before = apply_row(before, row, NAMING).draft
    assert worker(before)[0]["metadata"]["annotations"]["networking.gke.io/default-interface"] == "eth0"
