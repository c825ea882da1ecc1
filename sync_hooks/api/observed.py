"""What the edge decodes of the cluster's objects: typed, a few fields each, everything else skipped.

Structs, not models: a sync request of 2,500 Jobs is decoded on every change, and nodes of 20 kB come by the thousand.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Facts(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of everything decoded from the API: camelCase outside, unknown fields skipped, every field optional.

    Decoded JSON has no cycles, so the collector need not look at it: with 2,500 Jobs it would do little else.
    """


class OwnerReference(Facts, frozen=True):
    """The part of metav1.OwnerReference that tells whose an object is."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ChildMetadata(Facts, frozen=True):
    """Who an object is: all that is decoded of the metadata of children, which come by the thousand."""

    name: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class Metadata(ChildMetadata, frozen=True):
    """The part of metav1.ObjectMeta that the hooks look at."""

    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    def controller(self) -> OwnerReference | None:
        """Return the controlling owner, None for an object nobody controls."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    def controller_uid(self) -> str | None:
        """UID of the controlling owner, None for an object nobody controls."""
        owner = self.controller()
        return owner.uid if owner else None


class LiveObject(Facts, frozen=True):
    """Any object read live; spec, status and data stay as they came, for a model to parse."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()
    spec: Any = None
    status: Any = None
    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}


class Condition(Facts, frozen=True):
    """A condition of any kind, as observed."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Taint(Facts, frozen=True):
    """A node's taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Facts, frozen=True):
    """The part of a NodeSpec that selection reads."""

    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Facts, frozen=True):
    """The part of a NodeStatus that selection reads. Quantities stay text: ``"8"``, ``"2000Gi"``."""

    allocatable: dict[str, str] = {}
    capacity: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Facts, frozen=True):
    """A node as selection, detection and placement see it."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels, empty when it has none."""
        return self.metadata.labels or {}


class TerminatedState(Facts, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class RunningState(Facts, frozen=True):
    """Since when a container runs."""

    started_at: str | None = None


class WaitingState(Facts, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerState(Facts, frozen=True):
    """Exactly one of the three is set."""

    running: RunningState | None = None
    waiting: WaitingState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(Facts, frozen=True):
    """One container of a pod."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class Resources(Facts, frozen=True):
    """What a container asks for; quantities are text."""

    limits: dict[str, str] = {}


class Container(Facts, frozen=True):
    """A container of a pod, as it is asked for."""

    name: str = ""
    resources: Resources = Resources()


class PodSpec(Facts, frozen=True):
    """Where a pod sits, which containers it has, and what it needs of a node."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()


class PodStatus(Facts, frozen=True):
    """The part of a PodStatus that phases and logs need."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Facts, frozen=True):
    """A pod of a JobSet. Whose it is: label ``jobset.sigs.k8s.io/jobset-uid`` against the JobSet's own UID."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        """The pod's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The pod's labels, empty when it has none."""
        return self.metadata.labels or {}


class Told(Facts, frozen=True):
    """What an event says, and when it was said last (RFC 3339, empty where nobody knows)."""

    message: str = ""
    at: str = ""


class Log(Facts, frozen=True):
    """A piece of a container's log: raw bytes, and whether ``limit_bytes`` cut it."""

    content: bytes = b""
    truncated: bool = False
