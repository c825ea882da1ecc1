"""The nodes of a simulated cluster: read from a file of Node objects, or made up as ``PLATFORM/ARCHxN``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cli.simulator.entry import Object
from cli.simulator.node import InventoryError, node_of
from sync_hooks.api.names import GPU
from sync_hooks.api.quantity import whole_units

SHORTHAND = re.compile(r"(?P<platform>[a-z0-9]+)/(?P<architecture>[a-z0-9]+)x(?P<count>\d+)")
LOOKS_LIKE_SHORTHAND = re.compile(r"[A-Za-z0-9_-]*/[A-Za-z0-9_-]*[xX]\d+")
MOST_NODES = 100_000


def load(text: str) -> tuple[Object, ...]:
    """Read the NODES argument of the command line: a file's name or a shorthand. Raises InventoryError."""
    path = Path(text)
    if not path.exists() and LOOKS_LIKE_SHORTHAND.fullmatch(text):
        return make(text)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InventoryError(
            f"{text}: cannot be read: {error.strerror}; give a file of nodes, or PLATFORM/ARCHxN like aws/h100x8"
        ) from error
    try:
        return parse(content)
    except InventoryError as error:
        raise InventoryError(f"{text}: {error}") from error


def parse(content: bytes) -> tuple[Object, ...]:
    """Read Node objects from YAML or JSON: a List, single objects, or several documents. Raises InventoryError."""
    nodes = []
    for document in _documents(content):
        for item in _items(document):
            if item.get("kind") != "Node":
                raise InventoryError(f"expected Node objects, found kind {item.get('kind')!r}")
            nodes.append(node_of(item))
    if not any(_has_gpus(node) for node in nodes):
        raise InventoryError(f"no GPU node among {len(nodes)} nodes (label nvidia.com/gpu.present=true or {GPU})")
    if len({node["metadata"]["name"] for node in nodes}) < len(nodes):
        raise InventoryError("two nodes have the same name")
    return tuple(nodes)


def make(text: str) -> tuple[Object, ...]:
    """Make up nodes ``gpu-0000``... of a shorthand such as ``aws/h100x8``. Raises InventoryError."""
    match = SHORTHAND.fullmatch(text)
    if match is None:
        raise InventoryError(f"{text}: must be PLATFORM/ARCHxN, for example aws/h100x8")
    platform, architecture, count = match["platform"], match["architecture"], int(match["count"])
    table = _table()
    for name, rows in ((platform, "platforms"), (architecture, "architectures")):
        if name not in table[rows]:
            raise InventoryError(f"{text}: unknown {rows[:-1]} {name!r}, valid: {', '.join(table[rows])}")
    if not 1 <= count <= MOST_NODES:
        raise InventoryError(f"{text}: the number of nodes must be between 1 and {MOST_NODES}")
    return tuple(_made(platform, architecture, index) for index in range(count))


def known() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the platforms and the architectures of which nodes can be made up."""
    table = _table()
    return tuple(table["platforms"]), tuple(table["architectures"])


def _made(platform: str, architecture: str, index: int) -> Object:
    table = _table()
    row, machine = table["platforms"][platform], table["architectures"][architecture]
    domain = index // machine["domain"]
    name = f"gpu-{index:04d}"
    parts = {"index": index, "hex": f"{index:08x}", "domain": domain, "name": name}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": machine.get("arch", "amd64"),
        "kubernetes.io/os": "linux",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": machine["product"],
        **{key: value % parts for key, value in row["labels"].items()},
    }
    if machine.get("clique"):
        labels["nvidia.com/gpu.clique"] = f"00000000-0000-4000-8000-{domain:012x}.0"
    amounts = _amounts(platform, architecture)
    labels["nvidia.com/gpu.count"] = amounts[GPU]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": row["providerID"] % parts} if "providerID" in row else {},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [dict(READY)]},
    }


READY = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@cache
def _amounts(platform: str, architecture: str) -> dict[str, str]:
    table = _table()
    machine = table["architectures"][architecture]
    shapes = (row for row in table["shapes"] if (row["platform"], row["architecture"]) == (platform, architecture))
    gpus = next(shapes, machine)["gpus"]
    amounts = {"cpu": machine["cpu"], "memory": machine["memory"], "pods": "110", GPU: str(gpus)}
    for row in table["fabric"]:
        if platform in row["platforms"] and architecture in row["architectures"]:
            amounts |= row["resources"]
    return amounts


@cache
def _table() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("platforms.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table


class _Loader(yaml.CSafeLoader):
    """YAML without dates: the API's timestamps are text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _documents(content: bytes) -> list[Any]:
    try:
        if content.lstrip()[:1] == b"{":
            return [msgspec.json.decode(content)]
        return [document for document in yaml.load_all(content, _Loader) if document is not None]
    except msgspec.DecodeError as error:
        raise InventoryError(f"not JSON: {error}") from error
    except (yaml.YAMLError, ValueError) as error:  # not UTF-8, numbers of thousands of digits
        raise InventoryError(f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InventoryError("nested too deeply") from error


def _items(document: Any) -> Iterator[Object]:
    if not isinstance(document, dict):
        raise InventoryError("not a Kubernetes object")
    items = document.get("items") if str(document.get("kind", "")).endswith("List") else [document]
    for item in items or ():
        if not isinstance(item, dict):
            raise InventoryError("an item of the list is not a Kubernetes object")
        yield item


def _has_gpus(node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return labels.get("nvidia.com/gpu.present") == "true" or whole_units(allocatable.get(GPU)) > 0
