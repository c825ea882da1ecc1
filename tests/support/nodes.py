"""Nodes for tests: an H100 node on AWS by default, changed by keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sync_hooks.api.observed import Condition, Metadata, Node, NodeSpec, NodeStatus, Taint

PROVIDERS = {
    "aws": "aws:///us-east-1a/i-",
    "azure": "azure:///subscriptions/1/",
    "forge": "",
    "gcp": "gce://project/zone/",
    "mistral": "metal3://machines/",
    "nscale": "openstack:///",
    "oci": "ocid1.instance.oc1..",
    "onprem": "",
    "togetherai": "kubevirt://",
}
SIGNS = {"togetherai": {"node-role.together.ai/worker": ""}, "forge": {"nke.nvidia.com/site-name": "north"}}
EFA = {"vpc.amazonaws.com/efa": "32"}


def node(
    name: str,
    *,
    platform: str = "aws",
    product: str | None = "NVIDIA-H100-80GB-HBM3",
    gpus: str | None = "8",
    resources: Mapping[str, str] | None = None,
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    cordoned: bool = False,
    ready: str = "True",
) -> Node:
    """Build one node; ``gpus`` None leaves nvidia.com/gpu out, ``product`` None the label.

    ``capacity`` is what the node has and does not offer.
    """
    own = {"nvidia.com/gpu.present": "true", "kubernetes.io/hostname": name, **SIGNS.get(platform, {})}
    own |= {"nvidia.com/gpu.product": product} if product is not None else {}
    fabric = EFA if platform == "aws" and resources is None else (resources or {})
    allocatable = {**({"nvidia.com/gpu": gpus} if gpus is not None else {}), **fabric}
    provider = PROVIDERS[platform]
    return Node(
        metadata=Metadata(name=name, labels={**own, **(labels or {})}),
        spec=NodeSpec(
            provider_id=f"{provider}{name}" if provider else "", unschedulable=cordoned, taints=tuple(taints)
        ),
        status=NodeStatus(
            allocatable=allocatable,
            capacity={**allocatable, **(capacity or {})},
            conditions=(Condition(type="Ready", status=ready),),
        ),
    )


def nodes(count: int, **keywords: object) -> tuple[Node, ...]:
    """Build nodes ``gpu-000``, ``gpu-001``..., all alike."""
    return tuple(node(f"gpu-{index:03d}", **keywords) for index in range(count))  # type: ignore[arg-type]
