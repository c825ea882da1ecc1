"""What has to be installed in a cluster before a run can do anything, and where to get it. Looks at no cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sync_hooks.api.model import GROUP


@dataclass(frozen=True, slots=True)
class Part:
    """Something that runs depend on, known by an API group that it brings."""

    name: str
    group: str
    needed_for: str
    remedy: str


PARTS = (
    Part(
        "workloadrun",
        GROUP,
        "defines WorkloadRuns",
        "helm install workloadrun charts/workloadrun --namespace workloadrun --create-namespace, with your image: see "
        "docs/installation.md",
    ),
    Part(
        "Metacontroller",
        "metacontroller.k8s.io",
        "calls the hooks: without it nothing happens to a run",
        "https://metacontroller.github.io/metacontroller/guide/install.html (4.16 or newer)",
    ),
    Part(
        "Kubeflow Trainer",
        "trainer.kubeflow.org",
        "runs the TrainJobs",
        "https://www.kubeflow.org/docs/components/trainer/operator-guides/installation/ (2.2 or 2.3)",
    ),
    Part(
        "JobSet",
        "jobset.x-k8s.io",
        "makes the pods of TrainJobs",
        "https://jobset.sigs.k8s.io/docs/installation/ (0.12)",
    ),
)


def part_of(group: str) -> Part | None:
    """Return the part that brings an API group, None for a group that is not ours to know."""
    return next((part for part in PARTS if part.group == group), None)


def missing_parts(served_groups: Iterable[str]) -> tuple[Part, ...]:
    """Return the parts whose API group is not served."""
    served = frozenset(served_groups)
    return tuple(part for part in PARTS if part.group not in served)


def tell_missing(missing: Iterable[Part]) -> str:
    """Say what is missing, what for, and how to get it."""
    return "; ".join(f"{part.name} is not installed ({part.needed_for}): {part.remedy}" for part in missing)
