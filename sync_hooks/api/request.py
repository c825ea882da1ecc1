"""A sync request of Metacontroller, decoded to what the hooks look at; everything else is skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, TypeVar, cast

import msgspec

from sync_hooks.api.names import ANNOTATION_APPLIED, LABEL_CONTROLLER
from sync_hooks.api.observed import ChildMetadata, Condition, Facts, LiveObject, Metadata

JOB = "Job.cre.nvidia.com/v1alpha1"
WORKFLOW = "Workflow.cre.nvidia.com/v1alpha1"
BANDWIDTH_MEASUREMENT = "BandwidthMeasurement.cre.nvidia.com/v1alpha1"
GOODPUT_MEASUREMENT = "GoodputMeasurement.cre.nvidia.com/v1alpha1"
TRAIN_JOB = "TrainJob.trainer.kubeflow.org/v1alpha1"
TRAINING_RUNTIME = "TrainingRuntime.trainer.kubeflow.org/v1alpha1"
CONFIG_MAP = "ConfigMap.v1"


class Child(Facts, frozen=True):
    """Any child: enough to keep it, and to tell whose it is."""

    api_version: str = ""
    kind: str = ""
    metadata: ChildMetadata = ChildMetadata()

    @property
    def name(self) -> str:
        """The child's name."""
        return self.metadata.name


class ConfigMapChild(Child, frozen=True):
    """A ConfigMap with what it holds."""

    binary_data: dict[str, str] = {}


class WorkflowChild(Child, frozen=True):
    """A Workflow; its status is parsed by the model."""

    status: dict[str, Any] = {}


class FailedNodeFacts(Facts, frozen=True):
    """A blamed node in a Job's status."""

    name: str = ""
    reason: str = ""
    message: str = ""


class WaitingFacts(Facts, frozen=True):
    """What a Job waits for: only what every version of the hooks has written."""

    reason: str = ""
    message: str = ""
    since: str = ""


class JobFacts(Facts, frozen=True):
    """The part of a Job's status that its Workflow follows."""

    conditions: tuple[Condition, ...] = ()
    workload_phase: str = ""
    workload_start_time: str | None = None
    workload_end_time: str | None = None
    nodes: tuple[str, ...] = ()
    figures: dict[str, float] = {}
    unmeasured: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    failed_nodes: tuple[FailedNodeFacts, ...] = ()
    attribution: str = ""
    settled: bool = False
    drained: bool = False
    waiting: WaitingFacts | None = None


class JobChild(Child, frozen=True):
    """A Job as its Workflow sees it."""

    status: JobFacts = JobFacts()


class ReplicatedJobStatus(Facts, frozen=True):
    """Counts of one replicatedJob in a TrainJob's status."""

    name: str = ""
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0


class TrainJobSpec(Facts, frozen=True):
    """The part of a TrainJob's spec that tells whether it is held back."""

    suspend: bool = False


class TrainJobStatus(Facts, frozen=True):
    """A TrainJob's status."""

    conditions: tuple[Condition, ...] = ()
    jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class TrainJobChild(Child, frozen=True):
    """A TrainJob as its Job sees it."""

    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()


class _NotedMetadata(Facts, frozen=True):
    """The metadata that was asked for of a child, but for its name and namespace."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Noted(Facts, frozen=True):
    """What was asked for of a child, as Metacontroller notes it in an annotation."""

    metadata: _NotedMetadata
    spec: dict[str, Any]


_NOTED = msgspec.json.Decoder(_Noted)


class MeasurementChild(Child, frozen=True):
    """A measurement as its Job sees it; its status is parsed by the model.

    A Job looks at it only now and then, and what has been read so far is half of the Job's request.
    """

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = {}
    raw_status: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="status")

    @property
    def status(self) -> Any:
        """The status as JSON has it."""
        return msgspec.json.decode(self.raw_status)

    def as_applied(self) -> dict[str, Any]:
        """Return what was asked for last: asked for again, it changes nothing.

        An owner that the garbage collector has taken off since, as it does with one that is gone, is not asked for. A
        list or map that was asked for stays, if empty: without it Metacontroller takes away what others put there.
        """
        noted = self._noted()
        metadata, labels = noted.metadata, {**noted.metadata.labels, **self._own_label()}
        wanted: dict[str, Any] = {"name": self.name, "namespace": self.metadata.namespace, "labels": labels}
        if metadata.annotations is not None:
            wanted["annotations"] = metadata.annotations
        if metadata.owner_references is not None:
            uids = {owner.uid for owner in self.metadata.owner_references}
            wanted["ownerReferences"] = [owner for owner in metadata.owner_references if owner.get("uid") in uids]
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": wanted, "spec": noted.spec}

    def _own_label(self) -> dict[str, str]:
        known = self.metadata.labels or {}
        return {LABEL_CONTROLLER: known[LABEL_CONTROLLER]} if LABEL_CONTROLLER in known else {}

    def _noted(self) -> _Noted:
        """Return what Metacontroller noted of it; else, as under server-side apply, what the object itself shows."""
        try:
            return _NOTED.decode((self.metadata.annotations or {}).get(ANNOTATION_APPLIED, ""))
        except (msgspec.DecodeError, RecursionError):
            owners = [msgspec.to_builtins(owner) for owner in self.metadata.owner_references if not owner.controller]
            return _Noted(_NotedMetadata(self.metadata.labels or {}, None, owners), self.spec)


CHILD_TYPES: Mapping[str, type[Child]] = {
    WORKFLOW: WorkflowChild,
    JOB: JobChild,
    TRAIN_JOB: TrainJobChild,
    BANDWIDTH_MEASUREMENT: MeasurementChild,
    GOODPUT_MEASUREMENT: MeasurementChild,
    CONFIG_MAP: ConfigMapChild,
}

ChildT = TypeVar("ChildT", bound=Child)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a hook. ``children`` maps each declared kind (``ConfigMap.v1``) to its children by name."""

    parent: LiveObject
    children: Mapping[str, Mapping[str, Child]]
    finalizing: bool = False

    def of(self, kind: str, type_: type[ChildT]) -> Mapping[str, ChildT]:
        """Return the children of one kind by name, as the type that `CHILD_TYPES` gives it."""
        assert CHILD_TYPES.get(kind, Child) is type_  # noqa: S101 - a bug of ours, found by the first test that runs
        return cast("Mapping[str, ChildT]", self.children.get(kind, {}))

    def all_children(self) -> tuple[Child, ...]:
        """Return every child, in order of kind and name."""
        return tuple(
            self.children[kind][name] for kind in sorted(self.children) for name in sorted(self.children[kind])
        )


_PLAIN_KINDS = (
    TRAINING_RUNTIME,
    "ComputeDomain.resource.nvidia.com/v1beta1",
    "ResourceClaimTemplate.resource.k8s.io/v1",
    "PersistentVolumeClaim.v1",
)
"""The other kinds that a CompositeController of ours declares."""

KNOWN_KINDS: Mapping[str, type[Child]] = {**CHILD_TYPES, **dict.fromkeys(_PLAIN_KINDS, Child)}
_FIELDS: Mapping[str, str] = {kind: f"kind_{number}" for number, kind in enumerate(KNOWN_KINDS)}
"""Names of fields by kind, for kinds are no names of Python."""


def _of_type(type_: type[Child]) -> Any:
    return GenericAlias(dict, (str, type_))


_Known = msgspec.defstruct(
    "_Known",
    [
        (_FIELDS[kind], _of_type(type_) | msgspec.UnsetType, msgspec.field(name=kind, default=msgspec.UNSET))
        for kind, type_ in KNOWN_KINDS.items()
    ],
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
)


class _Envelope(Facts, frozen=True):
    """The request as it travels, of kinds that are known: read in one pass, which 2,500 Jobs make worth its while."""

    parent: LiveObject = LiveObject()
    children: _Known = _Known()  # type: ignore[valid-type]  # made just above
    finalizing: bool = False


class _AnyEnvelope(Facts, frozen=True):
    """The request with whatever kinds: children of a kind are decoded once their type is known."""

    parent: LiveObject = LiveObject()
    children: dict[str, msgspec.Raw] = {}
    finalizing: bool = False


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_ANY_ENVELOPE = msgspec.json.Decoder(_AnyEnvelope)
_CHILDREN: Mapping[str, msgspec.json.Decoder[dict[str, Any]]] = {
    kind: msgspec.json.Decoder(_of_type(type_)) for kind, type_ in CHILD_TYPES.items()
}
_CHILD = msgspec.json.Decoder(dict[str, Child])


def decode(body: bytes) -> Request:
    """Decode a request body; raises msgspec.DecodeError where it is none."""
    try:
        envelope = _ENVELOPE.decode(body)
    except msgspec.ValidationError:  # of a kind that we do not declare, or of another shape: that is told below
        return _decode_any(body)
    found = {kind: getattr(envelope.children, field) for kind, field in _FIELDS.items()}
    children = {kind: _by_name(objects) for kind, objects in found.items() if objects is not msgspec.UNSET}
    return Request(envelope.parent, children, envelope.finalizing)


def _decode_any(body: bytes) -> Request:
    envelope = _ANY_ENVELOPE.decode(body)
    found = {kind: _CHILDREN.get(kind, _CHILD).decode(objects) for kind, objects in envelope.children.items()}
    return Request(envelope.parent, {kind: _by_name(objects) for kind, objects in found.items()}, envelope.finalizing)


def _by_name(children: Mapping[str, Child]) -> dict[str, Child]:
    return {child.metadata.name: child for child in children.values()}
