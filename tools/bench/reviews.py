"""What is sent to the admission servers: the documented example, the same work as a TrainJob, and 1 MB of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from .machine import ROOT

EXAMPLE = ROOT / "examples" / "nccl-all-reduce.yaml"
TRAIN_JOB_API = "trainer.kubeflow.org"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def example(path: Path = EXAMPLE) -> dict[str, Any]:
    """Return the example as a user writes it."""
    return dict(yaml.safe_load(path.read_text()))


def review_of(obj: dict[str, Any], resource: str) -> bytes:
    """Write an AdmissionReview as the API server does when an object is created."""
    group, _, version = obj["apiVersion"].partition("/")
    request = {
        "uid": UID,
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "resource": {"group": group, "version": version, "resource": resource},
        "requestKind": {"group": group, "version": version, "kind": obj["kind"]},
        "requestResource": {"group": group, "version": version, "resource": resource},
        "name": obj["metadata"]["name"],
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(review, separators=(",", ":")).encode()


def train_job() -> dict[str, Any]:
    """Return a TrainJob of the same image, command and size, for a runtime that Trainer installs."""
    spec = example()["spec"]
    mpi = spec["framework"]["mpi"]
    trainer = {
        "image": spec["image"],
        "command": [mpi["mpirunPath"], mpi["binary"]],
        "args": mpi["args"],
        "numNodes": spec["numNodes"],
    }
    runtime = {"apiGroup": TRAIN_JOB_API, "kind": "ClusterTrainingRuntime", "name": "torch-distributed"}
    return {
        "apiVersion": f"{TRAIN_JOB_API}/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "nccl-all-reduce", "namespace": "default"},
        "spec": {"runtimeRef": runtime, "trainer": trainer},
    }


def large(megabytes: float = 1.0) -> dict[str, Any]:
    """Return the example grown to so many megabytes of arguments, in many small values: most work for a reader."""
    grown = example()
    count = int(megabytes * 1e6) // 40
    grown["spec"]["framework"]["mpi"]["args"] = [
        f"--argument-number-{number:06}=value-{number:06}" for number in range(count)
    ]
    return grown
