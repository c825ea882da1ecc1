"""The plan: everything a run will create, decided once, stored compressed, never computed again."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from sync_hooks.api.observed import Facts
from sync_hooks.api.packed import unpack_as
from sync_hooks.api.results import AppliedOverride, ExcludedNode

PLAN_VERSION = 1
PLAN_KEY = "plan.json.gz"


class Group(Facts, frozen=True):
    """Nodes that run one workload together. Its number is its place in the plan."""

    nodes: tuple[str, ...] = ()
    overflow: bool = False
    """Filled up with nodes that have a home group of their own; ``lent`` names them."""
    lent: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


class Plan(Facts, frozen=True):
    """What was detected, what is created once, and what each group's Job looks like before its group is filled in."""

    version: int = PLAN_VERSION
    prefix: str = ""
    """Shortened name of the run: the first part of every Job's name, whatever a later version would make of it."""
    platform: str = ""
    architecture: str = ""
    gpus_per_node: int = 0
    targeted: int = 0
    """Number of nodes that the target selects: those in groups and those excluded."""
    exclusions: tuple[tuple[str, str], ...] = ()
    """Targeted nodes that are left out, each with its reason, sorted by name."""
    groups: tuple[Group, ...] = ()
    hostnames: dict[str, str] = {}
    """Label kubernetes.io/hostname by node, only where it differs from the node's name."""
    runtime: dict[str, Any] = {}
    """The TrainingRuntime, one a run; empty where every Job brings a copy of its own."""
    shared: tuple[dict[str, Any], ...] = ()
    """Other objects that exist once a run: ConfigMaps."""
    job: dict[str, Any] = {}
    """Metadata (labels, annotations) and spec of a Job, without what belongs to its group. Objects in spec.dependencies
    carry the run's name until they get the Job's."""
    replicated_jobs: tuple[str, ...] = ()
    """ReplicatedJobs whose pods are pinned to the group's nodes."""
    tolerations: tuple[dict[str, Any], ...] = ()
    """Tolerations added to those pods."""
    unpinned: bool = False
    """The scheduler chooses the nodes of the one group, which names none, among ``candidates``."""
    candidates: tuple[str, ...] = ()
    """Nodes that an unpinned group may land on."""
    node_requirements: tuple[dict[str, Any], ...] = ()
    """Requirements on labels (Kubernetes' NodeSelectorRequirement) of an unpinned group's nodes."""
    spread: bool = False
    """Workers of a group keep off each other's nodes: a node would have room for two, and another one stay untested."""
    own_objects: bool = False
    """Each Job brings objects of its own (devices, storage, its copy of the runtime): Jobs carry the devices label."""
    iterations: int = 1
    max_concurrent: int = 0
    retry_failed_groups: int = 0
    applied_overrides: tuple[dict[str, Any], ...] = ()
    """As `AppliedOverride` writes them."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Whose plan it is."""

    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Unplannable:
    """Why there is no plan. ``wait`` tells that time may mend it (no nodes labelled yet).

    ``waiting`` names what is waited for where that is not nodes; reasons that share it share the bound of the wait.
    """

    reason: str
    message: str
    wait: bool = False
    exclusions: tuple[ExcludedNode, ...] = ()
    applied_overrides: tuple[AppliedOverride, ...] = ()
    waiting: str = ""
    fault: str = ""
    """The traceback of a fault of our own."""


def own_kinds(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Name the kinds, with their apiVersion, of which each Job brings objects of its own; sorted."""
    dependencies = (plan.job.get("spec") or {}).get("dependencies") or ()
    return tuple(sorted({(item["apiVersion"], item["kind"]) for item in dependencies}))


def encode(plan: Plan) -> bytes:
    """Compress a plan; the same plan gives the same bytes."""
    return gzip.compress(msgspec.json.encode(plan, order="sorted"), mtime=0)


def decode(content: bytes) -> Plan:
    """Read a plan back; raises ValueError where it is none."""
    return unpack_as(Plan, content)


def sha256(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of a plan's bytes."""
    return hashlib.sha256(content).hexdigest()
