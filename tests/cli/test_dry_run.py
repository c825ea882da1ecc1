"""run --dry-run: the plan as the cluster's hooks would make it, what would end the run at once, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import call
from tests.cli.served import Served, simulated

EXAMPLES = Path(__file__).parents[2] / "examples"
BANDWIDTH = str(EXAMPLES / "nccl-all-reduce-bandwidth.yaml")
ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with simulated(tmp_path) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        yield served


def changed(folder: Path, name: str = "changed", **spec: Any) -> str:
    """Write the example with another name, and with other fields of its spec."""
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({**run, "metadata": {"name": name}, "spec": {**run["spec"], **spec}}))
    return str(path)


def test_the_plan_is_for_the_nodes_of_the_cluster_and_nothing_is_made(served: Served) -> None:
    called = call("run", BANDWIDTH, "--dry-run")
    assert called.code == 0
    assert "nodes: 8 targeted, 8 eligible, 0 excluded" in called.out
    assert "aws/efa-h100 (h100) changed" in called.out
    assert not any(path.startswith("POST") for path in served.calls)


def test_json_has_groups_requests_and_rows(served: Served) -> None:
    plan = call("run", BANDWIDTH, "--dry-run", "-o", "json").document["plan"]
    assert [group["nodes"] for group in plan["groups"]] == [
        [f"gpu-000{n}" for n in range(4)],
        [f"gpu-000{n}" for n in range(4, 8)],
    ]
    worker = next(request for request in plan["requests"] if request["role"] == "node")
    assert worker["resources"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}


def test_nodes_that_are_given_need_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    nodes = str(EXAMPLES / "nodes" / "aws-mixed.yaml")
    called = call("run", BANDWIDTH, "--dry-run", "--nodes", nodes)
    assert called.code == 0
    assert "excluded, cordoned: ip-10-0-1-12.us-east-2.compute.internal" in called.out


def test_a_run_that_cannot_be_placed_says_why(served: Served, tmp_path: Path) -> None:
    called = call("run", changed(tmp_path, numNodes=9), "--dry-run")
    assert called.code == 1
    assert "PartitionError: a group needs 9 nodes" in called.out


@pytest.mark.parametrize(("profile", "why"), [("nccl-bandwith", "NotFound"), ("torchtitan", "Invalid")])
def test_a_profile_that_is_missing_or_does_not_fit_is_told(
    served: Served, tmp_path: Path, profile: str, why: str
) -> None:
    called = call("run", changed(tmp_path, bandwidthMeasurement={"logProfileRef": profile}), "--dry-run")
    assert (called.code, f"LogProfile{why}: LogProfile {profile}" in called.out) == (1, True)


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        pytest.param(
            {"kind": "Namespace", "metadata": {"name": "default", "labels": {ENFORCE: "baseline"}}},
            "PodSecurityForbids: namespace default enforces PodSecurity level baseline",
            id="PodSecurity",
        ),
        pytest.param(
            {
                "kind": "ResourceQuota",
                "metadata": {"name": "small", "namespace": "default"},
                "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
            },
            "QuotaTooSmall: a group needs 32 requests.nvidia.com/gpu, ResourceQuota small allows 8",
            id="quota",
        ),
    ],
)
def test_a_namespace_that_would_end_the_run_at_once_is_told_as_the_run_tells_it(
    served: Served, obj: dict[str, Any], told: str
) -> None:
    served.store.create({"apiVersion": "v1", **obj})
    called = call("run", BANDWIDTH, "--dry-run")
    assert (called.code, called.out[: len(told)]) == (1, told)
    assert call("run", BANDWIDTH, "--dry-run", "-o", "json").document["plan"]["problem"].startswith(told)
    served.steps = 20
    failed = call("run", BANDWIDTH, "--wait", "-o", "json")
    assert failed.code == 1
    assert failed.document["workloadRun"]["status"]["verdictReasons"][0] == called.out.splitlines()[0]


def test_nodes_that_another_run_holds_are_a_warning(served: Served, tmp_path: Path) -> None:
    assert call("run", changed(tmp_path, name="first")).code == 0
    for _ in range(10):
        served.advance()
    called = call("run", BANDWIDTH, "--dry-run")
    assert called.code == 0
    assert "warning: 8 of 8 nodes are used by run default/first, which is under way" in called.out


UNREAD = {
    "namespaces": "it is not known whether PodSecurity refuses the pods: no permission: user jane cannot get",
    "resourcequotas": "it is not known whether a quota is too small: no permission: user jane cannot list",
    "workflows": "it is not known which nodes other runs use: no permission: user jane cannot list",
    "logprofiles": "LogProfile nccl-bandwidth, which spec.bandwidthMeasurement.logProfileRef names, cannot be read",
}


@pytest.mark.parametrize("resources", [*([one] for one in UNREAD), list(UNREAD)], ids=" ".join)
def test_what_the_user_may_not_read_is_said_to_be_unknown(served: Served, resources: list[str]) -> None:
    served.forbidden = set(resources)
    called = call("run", BANDWIDTH, "--dry-run")
    told = [line for line in called.out.splitlines() if line.startswith("warning: ")]
    assert (called.code, len(told)) == (0, len(resources))
    assert all(line.startswith(f"warning: {UNREAD[one]}") for line, one in zip(told, resources, strict=True))


def test_a_warning_of_the_namespace_is_not_lost_to_a_profile_that_cannot_be_read(served: Served) -> None:
    quota = {"name": "tight", "namespace": "default"}
    hard: dict[str, Any] = {"spec": {"hard": {"pods": "9"}}, "status": {"used": {"pods": "7"}}}
    served.store.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": quota, **hard})
    served.forbidden = {"logprofiles"}
    assert "warning: ResourceQuota tight leaves 2 pods" in call("run", BANDWIDTH, "--dry-run").out


def test_without_nodes_there_is_no_plan_and_the_missing_right_is_named(served: Served) -> None:
    served.forbidden = {"nodes"}
    called = call("run", BANDWIDTH, "--dry-run")
    assert (called.code, "user jane cannot list nodes" in called.err) == (2, True)


def test_a_device_api_that_the_cluster_does_not_serve_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated(tmp_path, "aws/gb200x4") as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        assert call("run", BANDWIDTH, "--dry-run").code == 0
        served.absent = {"resource.nvidia.com"}
        called = call("run", BANDWIDTH, "--dry-run")
        assert (called.code, "ComputeDomain" in called.out) == (1, True)


@pytest.mark.parametrize("output", ["text", "json", "html"])
def test_nothing_is_waited_for_where_nothing_is_made(output: str) -> None:
    called = call("run", BANDWIDTH, "--dry-run", "--nodes", "aws/h100x8", "--wait", "-o", output)
    assert (called.code, "--wait is about a run, and --dry-run makes none" in called.err) == (2, True)


def test_a_plan_has_no_form_of_a_report() -> None:
    called = call("run", BANDWIDTH, "--dry-run", "--nodes", "aws/h100x8", "-o", "html")
    assert (called.code, called.err) == (2, "error: -o html is a form of report, and --dry-run has none\n")


@pytest.mark.parametrize("words", [("--dry-run", "--nodes", "aws/h100x8"), ("--dry-run",), ()], ids=" ".join)
@pytest.mark.parametrize("namespace", ["Not_A_Name", "a" * 64, "a/b"])
def test_a_namespace_that_cannot_be_is_2(served: Served, words: tuple[str, ...], namespace: str) -> None:
    called = call("run", BANDWIDTH, *words, "-n", namespace)
    assert (called.code, called.out) == (2, "")
    assert called.err == f"error: --namespace: {namespace!r} is no name of a namespace\n"
