"""Admission on the real API server: the causes of the table as kubectl prints them, and manifests applied twice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.support.kubectl import KubectlError
from tests.sync_hooks.admission.cases import cases, manifest

pytestmark = pytest.mark.usefixtures("product")

CALLS_AT_ONCE = 4
SEED: dict[str, Any] = {
    "image": "nvcr.io/nvidia/pytorch:26.01-py3",
    "framework": {"mpi": {"binary": "/usr/local/bin/all_reduce_perf_mpi", "mpirunPath": "/usr/local/mpi/bin/mpirun"}},
    "numNodes": 4,
    "gangScheduler": {"schedulerName": "kai-scheduler"},
    "target": {"nodeNames": ["nobody"]},
}
RUN = {**manifest("WorkloadRun", SEED), "metadata": {"name": "twice"}}


def refusal(cluster: Cluster, obj: dict[str, Any]) -> str:
    """Return what kubectl prints of a dry run that is refused, empty where it is not."""
    own = json.dumps(obj).replace('"here"', f'"{cluster.namespace}"')
    try:
        cluster.kubectl("create", "--dry-run=server", "-f", "-", input=own)
    except KubectlError as error:
        return str(error)
    return ""


def test_kubectl_prints_the_causes_of_every_rule(cluster: Cluster) -> None:
    named = [case for case in cases() if "metadata.name" not in case.errors or case.bad["metadata"].get("name")]
    table = [case for case in named if not case.offline]
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        good = list(pool.map(lambda case: refusal(cluster, dict(case.good)), table))
        bad = list(pool.map(lambda case: refusal(cluster, dict(case.bad)), table))
    assert {case.rule: reason for case, reason in zip(table, good, strict=True) if reason} == {}
    untold = {
        case.rule: reason
        for case, reason in zip(table, bad, strict=True)
        if not all(field in reason for field in case.errors)
    }
    assert untold == {}


def test_a_refusal_reads_as_for_built_in_kinds(cluster: Cluster) -> None:
    bad = {**manifest("WorkloadRun", {"image": "", "numNodes": 0}), "metadata": {"name": "bad"}}
    assert refusal(cluster, bad).splitlines() == [
        'The WorkloadRun "bad" is invalid: ',
        "* spec.image: Required value: must not be empty",
        "* spec.numNodes: Invalid value: 0: must be at least 1",
    ]


def test_defaults_are_stored(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(RUN))
    spec = cluster.kubectl.get("workloadrun", "twice")["spec"]
    assert spec["gangScheduler"]["queue"] == "default-queue"
    assert spec["framework"]["mpi"]["mpiImplementation"] == "OpenMPI"
    assert spec["orchestration"] == {"timeoutPerJob": "24h"}
    assert spec["numNodes"] == 4


def generation(cluster: Cluster) -> tuple[int, dict[str, Any]]:
    stored = cluster.kubectl.get("workloadrun", "twice")
    return stored["metadata"]["generation"], stored["spec"]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param([["apply"]], id="client-side"),
        pytest.param(
            [["apply", "--server-side", f"--field-manager={name}"] for name in ("a", "b", "a")], id="two-managers"
        ),
        pytest.param([["replace"]], id="replaced"),
    ],
)
def test_a_manifest_applied_again_is_no_change(cluster: Cluster, again: list[list[str]]) -> None:
    text = json.dumps(RUN)
    first = again[0] if "--server-side" in again[0] else ["apply"]
    cluster.kubectl(*first, "-f", "-", input=text)
    before = generation(cluster)
    for words in again:
        cluster.kubectl(*words, "-f", "-", input=text)
    assert generation(cluster) == before


def test_an_edited_spec_is_refused_with_what_to_do(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(RUN))
    edited = {**RUN, "spec": {**SEED, "numNodes": 5}}
    with pytest.raises(KubectlError, match="spec is immutable after creation"):
        cluster.kubectl("apply", "-f", "-", input=json.dumps(edited))


def test_warnings_are_shown(cluster: Cluster) -> None:
    run = {**manifest("WorkloadRun", {"target": {"nodeNames": []}}), "metadata": {"name": "warned"}}
    with pytest.raises(KubectlError, match=r"Warning: spec\.target\.nodeNames: is empty and restricts nothing"):
        cluster.kubectl("create", "--dry-run=server", "--warnings-as-errors", "-f", "-", input=json.dumps(run))
