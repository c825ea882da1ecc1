"""Inventories: made-up nodes carry what their platform's nodes carry, files are taken as kubectl writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.simulator.entry import Object
from cli.simulator.inventory import load, make, parse
from cli.simulator.node import InventoryError
from sync_hooks.api.observed import Node
from sync_hooks.cluster.platform import PLATFORMS, architecture_of, platform_of

GPU = "nvidia.com/gpu"
CLIQUE = "00000000-0000-4000-8000-%012x.0"


def node(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_nodes_are_named_and_numbered() -> None:
    nodes = make("aws/h100x3")
    assert [item["metadata"]["name"] for item in nodes] == ["gpu-0000", "gpu-0001", "gpu-0002"]
    assert nodes[2] == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "gpu-0002",
            "labels": {
                "kubernetes.io/hostname": "gpu-0002",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.count": "8",
                "topology.k8s.aws/network-node-layer-1": "nn-0",
                "topology.kubernetes.io/zone": "us-east-1a",
            },
        },
        "spec": {"providerID": "aws:///us-east-1a/i-00000002"},
        "status": nodes[2]["status"],
    }
    assert nodes[2]["status"]["conditions"][0]["type"] == "Ready"


@pytest.mark.parametrize(
    ("text", "gpus", "fabric"),
    [
        ("aws/h100x1", "8", {"vpc.amazonaws.com/efa": "32"}),
        ("aws/gb200x1", "4", {"vpc.amazonaws.com/efa": "4"}),
        ("aws/gb300x1", "4", {}),
        ("gcp/h100x1", "8", {}),
        ("gcp/gb200x1", "4", {f"networking.gke.io.networks/rdma-{index}": "1" for index in range(4)}),
        ("azure/h100x1", "8", {"nvidia.com/mlnxnics": "8"}),
        ("togetherai/h100x1", "8", {"nvidia.com/mlnxnics": "8"}),
        ("mistral/gb300x1", "4", {"rdma/ib": "63"}),
        ("onprem/gb200x1", "4", {"rdma/ib": "63"}),
        ("onprem/h100x1", "8", {}),
        ("nscale/b200x1", "8", {"nscale.com/rdmashare": "63"}),
        ("oci/l40sx1", "4", {}),
        ("oci/gb200x1", "4", {}),
        ("forge/h100x1", "8", {}),
        ("gcp/rtxpro6000x1", "8", {}),
    ],
)
def test_gpus_and_fabric_are_those_of_the_platform(text: str, gpus: str, fabric: dict[str, str]) -> None:
    allocatable = make(text)[0]["status"]["allocatable"]
    assert allocatable[GPU] == gpus
    usual = {GPU, "cpu", "memory", "pods"}
    assert {name: value for name, value in allocatable.items() if name not in usual} == fabric


ARCHITECTURES = ("h100", "h200", "a100", "b200", "b300", "l40s", "l40", "gb200", "gb300", "rtxpro6000")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_product_recognises_what_was_made_up(platform: str, architecture: str) -> None:
    made = msgspec.convert(make(f"{platform}/{architecture}x1")[0], Node)
    assert (platform_of(made), architecture_of(made)) == (platform, architecture)


@pytest.mark.parametrize(
    ("text", "key", "domains"),
    [
        ("aws/h100x17", "topology.k8s.aws/network-node-layer-1", {"nn-0", "nn-1"}),
        ("gcp/gb200x19", "cloud.google.com/gce-topology-block", {"block-0", "block-1"}),
        ("azure/gb200x18", "kubernetes.azure.com/ppg", {"ppg-0"}),
        ("onprem/gb200x19", "nvidia.com/gpu.clique", {CLIQUE % 0, CLIQUE % 1}),
    ],
)
def test_nodes_lie_in_domains(text: str, key: str, domains: set[str]) -> None:
    assert {item["metadata"]["labels"][key] for item in make(text)} == domains


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "asw/h100x4",
            "unknown platform 'asw', valid: aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale",
        ),
        ("aws/h101x4", "unknown architecture 'h101', valid: h100, h200"),
        ("aws/h100x0", "between 1 and"),
        ("aws/h100x1000000", "between 1 and"),
        ("aws/H100x4", "must be PLATFORM/ARCHxN"),
    ],
)
def test_a_shorthand_that_means_nothing_says_what_would(text: str, said: str) -> None:
    with pytest.raises(InventoryError) as error:
        load(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_kubectl_is_read_as_it_is(tmp_path: Path) -> None:
    nodes = list(make("aws/h100x2"))
    nodes[0]["metadata"] |= {
        "uid": "u",
        "resourceVersion": "7",
        "managedFields": [],
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": nodes, "metadata": {"resourceVersion": ""}}
    expected = make("aws/h100x2")
    for name, text in [("n.yaml", yaml.safe_dump(listed)), ("n.json", json.dumps(listed))]:
        (tmp_path / name).write_text(text)
        assert load(str(tmp_path / name)) == expected
    (tmp_path / "docs.yaml").write_text("---\n" + "\n---\n".join(yaml.safe_dump(item) for item in nodes))
    assert load(str(tmp_path / "docs.yaml")) == expected


def test_times_stay_text() -> None:
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {nvidia.com/gpu.present: 'true'}}\n"
    text += "status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: 2026-01-01T00:00:00Z}]}"
    assert parse(text.encode())[0]["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        (b"[" * 5000, "not YAML"),
        (b'{"a": ' * 5000, "nested too deeply"),
        (b"kind: " + b"1" * 5000, "not YAML"),
        (b"{", "not JSON"),
        (b"", "no GPU node among 0 nodes"),
        (b"text", "not a Kubernetes object"),
        (b"- a", "not a Kubernetes object"),
        (b"kind: Pod", "expected Node objects, found kind 'Pod'"),
        (b"kind: Node", "a node has no metadata.name"),
        (b"kind: List\nitems: [1]", "an item of the list is not"),
        (json.dumps(node("n")).encode(), "no GPU node among 1 nodes"),
        (
            yaml.safe_dump_all([node("n", **{"nvidia.com/gpu.present": "true"})] * 2).encode(),
            "two nodes have the same name",
        ),
    ],
)
def test_a_file_without_usable_nodes_says_so_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "nodes").write_bytes(content)
    with pytest.raises(InventoryError) as error:
        load(str(tmp_path / "nodes"))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_told_from_a_shorthand(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="cannot be read: No such file"):
        load(str(tmp_path / "nodes.yaml"))


def test_a_node_counts_by_label_or_by_resource() -> None:
    by_resource = {**node("n"), "status": {"allocatable": {GPU: "1"}}}
    assert len(parse(json.dumps(by_resource).encode())) == 1


def gpu_node(**parts: Any) -> Object:
    return {**node("n", **{"nvidia.com/gpu.present": "true"}), **parts}


def test_quantities_may_be_numbers_and_what_is_null_is_absent() -> None:
    status = {"allocatable": {GPU: 8, "cpu": 1.5, "memory": None}, "capacity": {GPU: 8}, "conditions": None}
    [read] = parse(yaml.safe_dump(gpu_node(spec={"taints": None}, status=status)).encode())
    assert read["status"] == {"allocatable": {GPU: "8", "cpu": "1.5"}, "capacity": {GPU: "8"}}
    assert msgspec.convert(read, Node).status.allocatable[GPU] == "8"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"status": {"allocatable": {GPU: "many"}}}, f'node n: status.allocatable[{GPU}]: Invalid value: "many"'),
        ({"status": {"capacity": {GPU: True}}}, f"node n: status.capacity[{GPU}]: Invalid value"),
        ({"status": {"allocatable": ["8"]}}, "node n: status.allocatable: Invalid value"),
        ({"status": "Ready"}, 'node n: status: Invalid value: "Ready": must be a mapping'),
        ({"status": {"conditions": [{"type": "Ready", "status": None}]}}, "node n: status.conditions[0].status: "),
        ({"status": {"conditions": [{"type": "Ready", "status": True}]}}, "node n: status.conditions[0].status: "),
        ({"spec": {"taints": [{"key": 1}]}}, "node n: spec.taints[0].key: "),
        ({"metadata": {"name": "n", "labels": [1]}}, "node n: metadata.labels: Invalid value"),
        ({"metadata": {"name": "n", "labels": {"a": True}}}, "node n: metadata.labels[a]: Invalid value"),
        ({"metadata": {"name": "N 1", "labels": {}}}, 'Node "N 1" is invalid: metadata.name: Invalid value'),
    ],
)
def test_what_no_node_can_have_is_told_by_node_and_field(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(InventoryError) as error:
        parse(json.dumps(gpu_node(**parts)).encode())
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
