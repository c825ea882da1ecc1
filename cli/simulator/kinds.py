"""The kinds that the store can serve, as discovery would list them. A kind left out is a CRD that is not installed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of discovery."""

    api_version: str
    kind: str
    resource: str
    namespaced: bool = True
    custom: bool = False
    """Defined by a CRD: nulls are refused, whole floats come back as integers, status is a subresource."""
    generation: bool = True
    """Whether the API server counts changes of the spec."""

    @property
    def group(self) -> str:
        """API group, empty for the core one."""
        return self.api_version.rpartition("/")[0]

    @property
    def group_resource(self) -> str:
        """Name of the resource as the API server prints it: ``jobs.batch``, ``pods``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def key(self) -> str:
        """Key in a hook request of version v2: ``Kind.group/version``, ``Kind.version`` in the core group."""
        return f"{self.kind}.{self.api_version}"


CRE = "cre.nvidia.com/v1alpha1"
TRAINER = "trainer.kubeflow.org/v1alpha1"
JOBSET = "jobset.x-k8s.io/v1alpha2"
BATCH = "batch/v1"
CORE = "v1"
METACONTROLLER = "metacontroller.k8s.io/v1alpha1"
COMPUTE_DOMAIN = Kind("resource.nvidia.com/v1beta1", "ComputeDomain", "computedomains", custom=True)
RESOURCE_CLAIM_TEMPLATE = Kind("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates")

KINDS: tuple[Kind, ...] = (
    Kind(CRE, "WorkloadRun", "workloadruns", custom=True),
    Kind(CRE, "Workflow", "workflows", custom=True),
    Kind(CRE, "Job", "jobs", custom=True),
    Kind(CRE, "BandwidthMeasurement", "bandwidthmeasurements", custom=True),
    Kind(CRE, "GoodputMeasurement", "goodputmeasurements", custom=True),
    Kind(CRE, "LogProfile", "logprofiles", namespaced=False, custom=True),
    Kind(TRAINER, "TrainJob", "trainjobs", custom=True),
    Kind(TRAINER, "TrainingRuntime", "trainingruntimes", custom=True),
    Kind(TRAINER, "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False, custom=True),
    Kind(JOBSET, "JobSet", "jobsets", custom=True),
    Kind(METACONTROLLER, "CompositeController", "compositecontrollers", namespaced=False, custom=True),
    COMPUTE_DOMAIN,
    RESOURCE_CLAIM_TEMPLATE,
    Kind(BATCH, "Job", "jobs"),
    Kind(CORE, "Pod", "pods"),
    Kind(CORE, "Node", "nodes", namespaced=False, generation=False),
    Kind(CORE, "ConfigMap", "configmaps", generation=False),
    Kind(CORE, "Secret", "secrets", generation=False),
    Kind(CORE, "Event", "events", generation=False),
    Kind(CORE, "PersistentVolumeClaim", "persistentvolumeclaims", generation=False),
    Kind(CORE, "ResourceQuota", "resourcequotas", generation=False),
    Kind(CORE, "Namespace", "namespaces", namespaced=False, generation=False),
)


class Discovery:
    """Finds kinds by either of their names."""

    def __init__(self, kinds: Iterable[Kind] = KINDS) -> None:
        self.kinds = tuple(kinds)
        self._by_kind = {(kind.api_version, kind.kind): kind for kind in self.kinds}
        self._by_resource = {(kind.api_version, kind.resource): kind for kind in self.kinds}

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        """Find a kind by its own name; None when it is not served."""
        return self._by_kind.get((api_version, kind))

    def of_resource(self, api_version: str, resource: str) -> Kind | None:
        """Find a kind by the plural that stands in URLs; None when it is not served."""
        return self._by_resource.get((api_version, resource))

    def without(self, *kinds: Kind) -> Discovery:
        """Take kinds away, as on a cluster where their CRDs are not installed."""
        return Discovery(kind for kind in self.kinds if kind not in kinds)
