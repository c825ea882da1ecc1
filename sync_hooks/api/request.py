"""A sync request of Metacontroller, decoded to what the hooks look at; everything else is skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, TypeVar, cast

import msgspec

from sync_hooks.api.observed import ChildMetadata, Condition, Facts, LiveObject

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
    waiting: dict[str, str] | None = None


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
    managed_by: str = ""


class TrainJobStatus(Facts, frozen=True):
    """A TrainJob's status."""

    conditions: tuple[Condition, ...] = ()
    jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class TrainJobChild(Child, frozen=True):
    """A TrainJob as its Job sees it."""

    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()


class MeasurementChild(Child, frozen=True):
    """A measurement as its Job sees it; its status is parsed by the model."""

    status: dict[str, Any] = {}


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


class _Envelope(Facts, frozen=True):
    """The request as it travels: children of a kind are decoded once their type is known."""

    parent: LiveObject = LiveObject()
    children: dict[str, msgspec.Raw] = {}
    finalizing: bool = False


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_CHILDREN: Mapping[str, msgspec.json.Decoder[dict[str, Any]]] = {
    kind: msgspec.json.Decoder(GenericAlias(dict, (str, type_))) for kind, type_ in CHILD_TYPES.items()
}
_CHILD = msgspec.json.Decoder(dict[str, Child])


def decode(body: bytes) -> Request:
    """Decode a request body; raises msgspec.DecodeError where it is none."""
    envelope = _ENVELOPE.decode(body)
    return Request(
        parent=envelope.parent,
        children={kind: _decode_kind(kind, objects) for kind, objects in envelope.children.items()},
        finalizing=envelope.finalizing,
    )


def _decode_kind(kind: str, objects: msgspec.Raw) -> dict[str, Child]:
    """Decode all children of a kind at once: one call for each of 2,500 would cost as much as the rest of a sync."""
    children: dict[str, Child] = _CHILDREN.get(kind, _CHILD).decode(objects)
    return {child.metadata.name: child for child in children.values()}
