"""`workloadrun init`: a manifest to start from, for one framework; its comments are the sentences of the CRD."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click
import yaml

from cli.errors import CliError
from cli.exits import DONE
from cli.output import print_text
from sync_hooks.api.crd import object_schema
from sync_hooks.api.errors import cut
from sync_hooks.api.kinds import KINDS
from sync_hooks.api.limits import RUN_NAMES
from sync_hooks.api.model import API_VERSION

WIDTH = 110  # columns of comments
PYTORCH = "nvcr.io/nvidia/pytorch:26.01-py3"
FRAMEWORKS: Mapping[str, Mapping[str, Any]] = {
    "mpi": {
        "image": PYTORCH,
        "framework": {
            "mpi": {
                "binary": "/usr/local/bin/all_reduce_perf_mpi",
                "args": ["-b", "8", "-e", "16G", "-f", "2", "-n", "100"],
                "mpirunPath": "/usr/local/mpi/bin/mpirun",
            }
        },
        "numNodes": 2,
        "bandwidthMeasurement": {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"},
        "thresholds": {"busBandwidthGBps": "value >= 300"},
    },
    "torch": {
        "image": PYTORCH,
        "framework": {"torch": {"script": "train.py", "args": ["--steps", "500"]}},
        "numNodes": 2,
        "goodputMeasurement": {"logProfileRef": "megatron-training"},
        "thresholds": {"goodputRatio": "value >= 0.85"},
    },
    "exec": {
        "image": "nvcr.io/nvidia/cloud-native/dcgm:4.4.1-1-ubuntu22.04",
        "framework": {"exec": {"command": ["dcgmi", "diag", "-r", "3"]}},
        "numNodes": 1,
    },
}
"""What each framework needs, with values to replace."""

OPTIONAL: Mapping[str, Any] = {
    "target": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    "gpusPerNode": 8,
    "mlnxPerNode": 0,
    "env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
    "imagePullSecrets": [{"name": "registry"}],
    "orchestration": {"testScale": "full-scale", "repeatCount": 3, "maxConcurrent": 10, "timeoutPerJob": "30m"},
    "gangScheduler": {"schedulerName": "kai-scheduler", "queue": "default-queue"},
    "workloadMetadata": {"labels": {"team": "infrastructure"}},
}
"""What any run may have, commented out, with values to replace."""


@click.command(name="init")
@click.option(
    "--framework", type=click.Choice(list(FRAMEWORKS)), default="mpi", show_default=True, help="How it is started."
)
@click.option("--name", metavar="NAME", default="my-run", show_default=True, help="Name of the run.")
@click.option("--image", metavar="IMAGE", default="", help="Container image of the workload.")
def command(framework: str, name: str, image: str) -> int:
    """Print a commented WorkloadRun to start from: workloadrun init --framework mpi > run.yaml."""
    if len(name) > RUN_NAMES.longest:
        raise CliError(
            f"--name: {cut(name)!r} is too long: the name of a run has at most {RUN_NAMES.longest} characters"
        )
    if not re.fullmatch(RUN_NAMES.pattern, name):
        raise CliError(f"--name: {name!r} is no name of a run: it {RUN_NAMES.meaning}")
    print_text(manifest(framework, name, image))
    return DONE


def manifest(framework: str, name: str, image: str = "") -> str:
    """Write the manifest of a framework; without an image one that fits."""
    required = {**FRAMEWORKS[framework], **({"image": image} if image else {})}
    spec = object_schema(KINDS[0])["properties"]["spec"]
    lines = [
        f"# A WorkloadRun for {framework}. See what it would do, then run it:",
        "#   workloadrun run FILE --dry-run",
        "#   workloadrun run FILE --wait",
        f"apiVersion: {API_VERSION}",
        "kind: WorkloadRun",
        "metadata:",
        f"  name: {name}",
        "spec:",
        *_fields(spec, required, "  "),
        "",
        "  # What follows is optional.",
        *(f"  # {line}".rstrip() for line in _fields(spec, OPTIONAL, "")),
    ]
    return "\n".join(lines) + "\n"


def _fields(schema: Mapping[str, Any], values: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Write fields with their sentences above them; what has no fields of its own stands in one line."""
    known = schema.get("properties", {})
    for name, value in values.items():
        node = known.get(name, {})
        yield from _comment(node.get("description", ""), indent)
        if isinstance(value, dict) and node.get("properties"):
            yield f"{indent}{name}:"
            yield from _fields(node, value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_value(value)}"


def _comment(text: str, indent: str) -> Iterator[str]:
    line = f"{indent}#"
    for word in text.split():
        if len(line) + len(word) >= WIDTH:
            yield line
            line = f"{indent}#"
        line += f" {word}"
    if text:
        yield line


def _value(value: Any) -> str:
    written: str = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=True, width=10_000, sort_keys=False)
    return written.removesuffix("\n").removesuffix("\n...")
