"""What the tests of runs say again and again: manifests from examples/, ends, and what an end consists of."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.cluster import Cluster

EXAMPLES = Path(__file__).parents[3] / "examples"
SECONDS = 120  # a run of two groups takes about 20


def example(name: str, **spec: Any) -> dict[str, Any]:
    """Read an example; keywords replace fields of its spec, None removes one."""
    run: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    changed = {key: value for key, value in {**run["spec"], **spec}.items() if value is not None}
    return {**run, "spec": changed}


def sampled(run: Mapping[str, Any], seconds: int = 2) -> dict[str, Any]:
    """Let measurements look every two seconds: a test has no minute to wait."""
    spec = dict(run["spec"])
    for name in ("bandwidthMeasurement", "goodputMeasurement"):
        if name in spec:
            spec[name] = {**spec[name], "sampleInterval": f"{seconds}s"}
    return {**run, "spec": spec}


def ended(cluster: Cluster, name: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Wait for a run's verdict and return its status."""

    def look() -> dict[str, Any]:
        status: dict[str, Any] = cluster.kubectl.get("workloadrun", name).get("status", {})
        return status if "verdict" in status else {}

    return cluster.eventually(look, seconds)


def conditions(status: Mapping[str, Any]) -> dict[str, str]:
    """Return the conditions' statuses by type."""
    return {item["type"]: item["status"] for item in status["conditions"]}


def node_list(cluster: Cluster, reference: Mapping[str, str]) -> Any:
    """Read a list of nodes: names of the good ones, objects of the bad ones."""
    stored = cluster.kubectl.get("configmap", reference["name"])["binaryData"]
    [(key, content)] = stored.items()
    text = gzip.decompress(base64.b64decode(content)).decode()
    return json.loads(text) if key.endswith(".json.gz") else text.split(",")


def placed(cluster: Cluster, **labels: str) -> dict[str, str]:
    """Return the nodes of the pods with these labels, by pod."""
    selector = ",".join(f"cre.nvidia.com/{key}={value}" for key, value in labels.items())
    pods = cluster.kubectl.list("pods", f"--selector={selector}")
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}
