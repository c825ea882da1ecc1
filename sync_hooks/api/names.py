"""Names and labels of everything a run creates. Only the run's part of a name is ever shortened.

How it is shortened may change: a run under way takes its names from its plan, and `runtime_base` from that.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from dataclasses import dataclass
from functools import lru_cache

from sync_hooks.api.model import GROUP

GPU = "nvidia.com/gpu"  # the device plugin's resource
MANAGED_BY = "cluster-readiness-engine"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_WORKLOAD_RUN = f"{GROUP}/workload-run"
LABEL_WORKFLOW = f"{GROUP}/workflow"
LABEL_GROUP = f"{GROUP}/group"
LABEL_ITERATION = f"{GROUP}/iteration"
LABEL_JOB = f"{GROUP}/job"
LABEL_DEVICES = f"{GROUP}/devices"
LABEL_CONTROLLER = "controller-uid"  # Metacontroller's: whose child an object is
ANNOTATION_GROUP_NODES = f"{GROUP}/group-nodes"
ANNOTATION_ENDED = f"{GROUP}/workload-ended"  # of a measurement: UID of the TrainJob whose end its Job has seen
ANNOTATION_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
ANNOTATION_RETENTION = f"{GROUP}/retention"  # of a WorkloadRun: how long its Jobs stay after its end, as 72h

LONGEST_PREFIX = 23  # with -g9999-i1000-t10-w100-launcher-0-0-xxxxx, as long as pods' names get, these are 63
HASH_BYTES = 5  # eight letters and digits: of 10,000 runs that begin alike, two meet once in 20,000 such namespaces
HASH_LENGTH = HASH_BYTES * 8 // 5
RUNTIME_END = "-runtime"

_JOB_NAME = re.compile(r"-g(\d+)-i(\d+)(?:-t(\d+))?$")


def shorten(name: str, longest: int = LONGEST_PREFIX) -> str:
    """Return the name if it fits, else its head, a hyphen and a hash of the whole name."""
    return name if len(name) <= longest else _with_hash(name, name, longest)


def job_prefix(run: str) -> str:
    """Return the first part of every Job's name: the run's shortened name, made to start with a letter.

    Trainer takes only names that do. What is put in front comes with a hash: beside ``8`` there may be a run ``r-8``.
    """
    return shorten(run) if run[:1].isalpha() else _with_hash(f"r-{run}", run, LONGEST_PREFIX)


def _with_hash(head: str, name: str, longest: int) -> str:
    digest = hashlib.sha256(name.encode()).digest()[:HASH_BYTES]
    return f"{head[: longest - HASH_LENGTH - 1].rstrip('-.')}-{b32encode(digest).decode().lower()}"


def runtime_name(run: str) -> str:
    """Name of the run's TrainingRuntime."""
    return f"{shorten(run)}{RUNTIME_END}"


def runtime_base(runtime: str) -> str:
    """Return the run's shortened name as it stands in its TrainingRuntime's, whichever version shortened it."""
    return runtime.removesuffix(RUNTIME_END)


def config_name(run: str) -> str:
    """Name of the ConfigMap with the run's inline configuration."""
    return f"{shorten(run)}-config"


def plan_name(workflow: str) -> str:
    """Name of the ConfigMap with the Workflow's plan."""
    return f"{workflow}-plan"


def iteration_name(workflow: str, iteration: int) -> str:
    """Name of the ConfigMap with one iteration's result."""
    return f"{workflow}-iteration-{iteration}"


def succeeded_nodes_name(workflow_uid: str) -> str:
    """Name of the ConfigMap with the nodes that passed."""
    return f"succeeded-nodes-{workflow_uid[:8]}"


def failed_nodes_name(workflow_uid: str) -> str:
    """Name of the ConfigMap with the nodes that failed."""
    return f"failed-nodes-{workflow_uid[:8]}"


def job_name(prefix: str, group: int, iteration: int, retry: int = 0) -> str:
    """Name of a Job; ``prefix`` is the run's shortened name, numbers of iterations start at 1."""
    return f"{prefix}-g{group}-i{iteration}" + (f"-t{retry}" if retry else "")


def train_job_name(job: str, attempt: int) -> str:
    """Name of a Job's TrainJob: the attempt is part of it, so that no name is ever used twice."""
    return f"{job}-w{attempt}"


def bandwidth_name(job: str) -> str:
    """Name of a Job's BandwidthMeasurement."""
    return f"{job}-bandwidth"


def goodput_name(job: str) -> str:
    """Name of a Job's GoodputMeasurement."""
    return f"{job}-goodput"


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """Which Job of a run: sorts by iteration, group and retry."""

    iteration: int
    group: int
    retry: int = 0


@lru_cache(maxsize=1 << 15)  # the same names come with every sync of a Workflow
def job_key(name: str) -> JobKey | None:
    """Read the numbers back out of a Job's name; None for a name of another form."""
    match = _JOB_NAME.search(name)
    if match is None:
        return None
    group, iteration, retry = match.groups()
    return JobKey(int(iteration), int(group), int(retry or 0))
