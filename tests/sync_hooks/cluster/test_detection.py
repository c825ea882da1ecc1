import pytest

from sync_hooks.cluster.defaults import known_architectures, node_shape
from sync_hooks.cluster.platform import (
    PLATFORMS,
    architecture_of,
    chosen_architecture,
    platform_of,
    platforms,
    products_of,
)
from sync_hooks.cluster.resources import commonest_gpus, detect_nic_resource, own
from tests.support.nodes import PROVIDERS, node


@pytest.mark.parametrize("platform", [name for name in PLATFORMS if name != "nscale"])
def test_a_platform_is_known_by_its_provider_id(platform):
    assert platform_of(node("a", platform=platform)) == platform


def test_every_platform_can_be_built():
    assert sorted(PROVIDERS) == sorted(PLATFORMS)


@pytest.mark.parametrize(
    ("provider", "resources", "labels", "platform"),
    [
        ("openstack:///1", {"nscale.com/rdmashare": "1"}, {}, "nscale"),
        ("openstack:///1", {}, {}, "onprem"),
        ("kubevirt://1", {}, {}, "onprem"),
        ("kubevirt://1", {}, {"node-role.together.ai/worker": ""}, "togetherai"),
        ("metal3://1", {}, {}, "mistral"),
        ("", {}, {"kubernetes.io/hostname": "gpu.forge.example"}, "forge"),
        ("", {}, {"nke.nvidia.com/site-name": "north"}, "forge"),
        ("", {}, {}, "onprem"),
        ("vsphere://1", {}, {}, "onprem"),
    ],
)
def test_signs_tell_platforms_of_one_provider_apart(provider, resources, labels, platform):
    built = node("a", platform="onprem", resources=resources, labels=labels)
    changed = type(built)(metadata=built.metadata, spec=type(built.spec)(provider_id=provider), status=built.status)
    assert platform_of(changed) == platform


@pytest.mark.parametrize(
    ("product", "architecture"),
    [
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("NVIDIA-GB200", "gb200"),
        ("NVIDIA-L40S", "l40s"),
        ("H200", "h200"),
        ("Tesla-V100-SXM2", "tesla"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "rtxpro6000"),
        ("nvidia-rtx", "nvidia"),
        ("rtx-pro-6000-blackwell", "rtxpro6000"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_architecture_is_read_off_the_product_label(product, architecture):
    assert architecture_of(node("a", product=product)) == architecture


@pytest.mark.parametrize(
    ("products", "chosen"),
    [
        (["NVIDIA-H100", "NVIDIA-L40S", "NVIDIA-H100"], "h100"),
        (["NVIDIA-L40S", "NVIDIA-H100"], "l40s"),
        (["NVIDIA-L40S", "NVIDIA-H100", "NVIDIA-H100", "NVIDIA-L40S"], "l40s"),
        ([None, None, None, "NVIDIA-A100-SXM4"], "a100"),
        ([None], "unknown"),
        ([], "unknown"),
    ],
    ids=["majority", "tie", "tie of two", "unlabelled nodes have no vote", "nobody labelled", "nobody"],
)
def test_most_labelled_nodes_choose_and_a_tie_goes_to_the_first(products, chosen):
    voters = [node(f"gpu-{number}", product=product) for number, product in enumerate(products)]
    assert chosen_architecture(voters) == chosen


def test_nodes_are_told_apart_by_platform_and_product():
    mixed = [node("b"), node("a", platform="gcp", product="NVIDIA-L40S"), node("c")]
    assert platforms(mixed) == {"aws": ("b", "c"), "gcp": ("a",)}
    assert products_of(mixed) == ("NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S")


@pytest.mark.parametrize(
    ("architecture", "platform", "gpus", "nics"),
    [
        ("h100", "aws", 8, 8),
        ("l40s", "aws", 8, 8),
        ("l40s", "oci", 4, 2),
        ("l40", "", 8, 4),
        ("gb200", "gcp", 4, 8),
        ("gb200", "oci", 4, 0),
        ("gb300", "oci", 4, 4),
        ("gb300", "nscale", 4, 4),
        ("rtxpro6000", "gcp", 8, 0),
        ("unknown", "", 4, 0),
        ("v100", "aws", 4, 0),
    ],
)
def test_the_table_knows_the_shape_of_a_node(architecture, platform, gpus, nics):
    shape = node_shape(architecture, platform)
    assert (shape.gpus, shape.nics, shape.known) == (gpus, nics, architecture in known_architectures())


@pytest.mark.parametrize(
    ("gpus", "commonest"),
    [
        (["8", "8", "7"], 8),
        (["4", "4", "8", "8"], 8),
        (["0", "0", "2"], 2),
        ([None, "0"], None),
        (["4", "4", "8"], 4),
        (["many"], None),
    ],
    ids=["most", "a tie goes to the larger", "none does not count", "nobody offers", "smaller majority", "unreadable"],
)
def test_the_commonest_positive_number_of_gpus_counts(gpus, commonest):
    assert commonest_gpus([node(f"gpu-{number}", gpus=offer) for number, offer in enumerate(gpus)]) == commonest


@pytest.mark.parametrize(
    ("capacity", "count"),
    [({"nvidia.com/gpu": "8"}, None), ({}, "8"), ({"nvidia.com/gpu": "4"}, "8")],
    ids=["by capacity", "by label", "by the larger of both"],
)
def test_broken_nodes_do_not_set_the_norm_however_many_they_are(capacity, count):
    labels = {"nvidia.com/gpu.count": count} if count else {}
    broken = [node(f"gpu-{n}", gpus="7", capacity=capacity, labels=labels) for n in range(3)]
    assert commonest_gpus([*broken, node("gpu-3")]) == 8
    assert commonest_gpus(broken) == 8
    assert own(broken[0], "nvidia.com/gpu") == 8


@pytest.mark.parametrize(
    ("offers", "needed", "name", "finding"),
    [
        ([{"rdma/hca": "8"}, {"rdma/hca": "8"}], 8, "rdma/hca", ""),
        ([{"nvidia.com/mlnxnics": "8"}, {"nvidia.com/mlnxnics": "9"}], 8, "nvidia.com/mlnxnics", ""),
        ([{"rdma/a": "8", "rdma/b": "8"}], 8, "", "several"),
        ([{"rdma/a": "8"}, {"rdma/a": "4"}], 8, "rdma/a", ""),
        ([{"rdma/a": "8"}, {}], 8, "rdma/a", ""),
        ([{"rdma/a": "8"}, {}, {}], 8, "", "rdma/a is on 1 of 3 nodes"),
        ([{"rdma/a": "8"}, {"rdma/a": "8"}, {"rdma/a": "8", "rdma/b": "8"}], 8, "rdma/a", ""),
        ([{"rdma/a": "8"}, {"rdma/b": "8"}], 8, "", "several"),
        ([{"rdma/a": "4"}, {"rdma/a": "4"}], 8, "", "no node offers 8 of a fabric resource (found rdma/a)"),
        ([{}, {}], 8, "", "the nodes offer no fabric resource"),
        ([{"rdma/a": "1"}], 0, "rdma/a", ""),
    ],
)
def test_the_fabric_resource_of_which_the_most_nodes_have_enough_is_the_norm_if_half_of_them_do(
    offers, needed, name, finding
):
    offering = [node(f"gpu-{number}", resources=offer) for number, offer in enumerate(offers)]
    detected = detect_nic_resource(offering, needed)
    assert detected.name == name
    assert detected.finding.startswith(finding)
    assert bool(detected.finding) == (not name)


def test_a_fabric_that_nodes_have_and_do_not_offer_is_still_their_norm():
    broken = [node(f"gpu-{n}", resources={"rdma/a": "0"}, capacity={"rdma/a": "8"}) for n in range(3)]
    assert detect_nic_resource([*broken, node("gpu-3", resources={"rdma/a": "8"})], 8).name == "rdma/a"
    assert detect_nic_resource(broken, 8).name == "rdma/a"
