"""What the nodes are: platform by provider id, GPU architecture by product label and majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sync_hooks.api.observed import Node
from sync_hooks.cluster.nodes import LABEL_GPU_PRODUCT, LABEL_HOSTNAME

UNKNOWN = "unknown"
ONPREM = "onprem"
PLATFORMS = ("aws", "gcp", "azure", "oci", ONPREM, "togetherai", "mistral", "forge", "nscale")

VENDOR_PREFIX = "NVIDIA-"
RTX_PRO_PREFIX = "RTX-PRO-6000"  # cutting at the first hyphen would leave "rtx"

_BY_PREFIX = {"aws://": "aws", "gce://": "gcp", "azure://": "azure", "ocid1.": "oci", "metal3://": "mistral"}


def platform_of(node: Node) -> str:
    """Name the platform of one node; what is not recognised is on-premises."""
    provider = node.spec.provider_id
    if not provider:
        forge = "forge" in node.labels.get(LABEL_HOSTNAME, "") or "nke.nvidia.com/site-name" in node.labels
        return "forge" if forge else ONPREM
    if provider.startswith("openstack://"):
        return "nscale" if "nscale.com/rdmashare" in node.status.allocatable else ONPREM
    if provider.startswith("kubevirt://"):
        return "togetherai" if "node-role.together.ai/worker" in node.labels else ONPREM
    return next((platform for prefix, platform in _BY_PREFIX.items() if provider.startswith(prefix)), ONPREM)


def platforms(nodes: Iterable[Node]) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the nodes by platform, platforms in order."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(platform_of(node), []).append(node.name)
    return {platform: tuple(found[platform]) for platform in sorted(found)}


def architecture_of(node: Node) -> str:
    """Read the GPU architecture off a node's product label: ``NVIDIA-H100-80GB-HBM3`` is h100."""
    product = node.labels.get(LABEL_GPU_PRODUCT, "").removeprefix(VENDOR_PREFIX)
    if product.upper().startswith(RTX_PRO_PREFIX):
        return "rtxpro6000"
    return product.partition("-")[0].lower() or UNKNOWN


def chosen_architecture(nodes: Sequence[Node]) -> str:
    """Choose the architecture of most labelled nodes; a tie goes to the one whose first node sorts first.

    ``nodes`` are sorted by name. Without any labelled node the architecture is ``unknown``.
    """
    votes = Counter(architecture_of(node) for node in nodes)  # keeps the order of first sight
    del votes[UNKNOWN]
    return max(votes, key=lambda architecture: votes[architecture], default=UNKNOWN)


def products_of(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the distinct product labels, sorted."""
    return tuple(sorted({node.labels[LABEL_GPU_PRODUCT] for node in nodes if node.labels.get(LABEL_GPU_PRODUCT)}))
