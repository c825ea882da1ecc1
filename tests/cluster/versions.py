"""The real components that the product is tested against: one row a Go module, one row in it a program.

Decides nothing: `build.py` builds what stands here, `build.py pin` writes modules/<name>/go.mod and go.sum from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

GO = (1, 26)
"""Oldest Go that compiles all of them; k8s.io/kubernetes asks for it in its own go.mod."""

KUBERNETES = "1.36.3"
OLDEST_KUBERNETES, NEWEST_KUBERNETES = "1.31.14", "1.37.2"
"""The ends of what docs/installation.md claims: their API servers must take what the chart installs."""

Purpose = Literal["test", "node", "chart", "kind", "claim"]
"""What a program is needed for: every test run, the real node, rendering and installing the chart, `make kind`, the
versions of Kubernetes that are claimed."""


@dataclass(frozen=True, slots=True)
class Program:
    """One executable: its name in the bin folder, the Go package it is made of, and what it is needed for."""

    name: str
    package: str
    purpose: Purpose = "test"


@dataclass(frozen=True, slots=True)
class Module:
    """One Go module at one version, with its own dependency versions, so that no program bends another's."""

    name: str
    path: str
    version: str
    programs: tuple[Program, ...]
    why: str
    link_flags: str = "-s -w"
    manifests: tuple[str, ...] = field(default=())
    """Globs, relative to the module, of the manifests that are installed from it; kept beside the programs."""

    @property
    def purposes(self) -> set[Purpose]:
        """All that this module's programs are needed for."""
        return {program.purpose for program in self.programs}


KUBERNETES_MODULE = "k8s.io/kubernetes"
_COMPONENT = "k8s.io/component-base/version"


def _calling_itself(version: str) -> str:
    """Return the linker's flags without which a server calls itself v0.0.0 and clients refuse it."""
    major, minor, _ = version.split(".")
    named = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {_COMPONENT}.{name}={value}" for name, value in named.items())])


def _only_its_server(version: str, why: str) -> Module:
    minor = version.rpartition(".")[0]
    return Module(
        name=f"kubernetes-{minor}",
        path=KUBERNETES_MODULE,
        version=f"v{version}",
        programs=(Program(f"kube-apiserver-{minor}", f"{KUBERNETES_MODULE}/cmd/kube-apiserver", "claim"),),
        why=why,
        link_flags=_calling_itself(version),
    )


MODULES = (
    Module(
        name="etcd",
        path="go.etcd.io/etcd/server/v3",
        version="v3.6.16",
        programs=(Program("etcd", "go.etcd.io/etcd/server/v3"),),
        why="the API server's store",
    ),
    Module(
        name="kubernetes",
        path=KUBERNETES_MODULE,
        version=f"v{KUBERNETES}",
        programs=(
            Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            Program("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            Program("kubelet", "k8s.io/kubernetes/cmd/kubelet", "node"),
            Program("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", "node"),
        ),
        why="admission, validation, garbage collection, Jobs and placement as users meet them",
        link_flags=_calling_itself(KUBERNETES),
    ),
    _only_its_server(OLDEST_KUBERNETES, "the oldest Kubernetes that is claimed takes what the chart installs"),
    _only_its_server(NEWEST_KUBERNETES, "and so does the newest"),
    Module(
        name="jobset",
        path="sigs.k8s.io/jobset",
        version="v0.12.0",
        programs=(Program("jobset", "sigs.k8s.io/jobset"),),
        why="runs what Trainer makes of a TrainJob",
        manifests=("config/components/crd/bases/*.yaml", "config/components/webhook/manifests.yaml"),
    ),
    Module(
        name="trainer",
        path="github.com/kubeflow/trainer/v2",
        version="v2.3.0",
        programs=(Program("trainer", "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"),),
        why="the engine that TrainJobs are written for",
        manifests=(
            "manifests/base/crds/trainer.*.yaml",
            "manifests/base/webhook/manifests.yaml",
            "manifests/base/runtimes/torch_distributed.yaml",
        ),
    ),
    Module(
        name="kwok",
        path="sigs.k8s.io/kwok",
        version="v0.8.0",
        programs=(Program("kwok", "sigs.k8s.io/kwok/cmd/kwok"),),
        why="plays the kubelets of GPU nodes that do not exist",
        manifests=("kustomize/crd/bases/*.yaml", "kustomize/stage/node/fast/node-initialize.yaml"),
    ),
    Module(
        name="coredns",
        path="github.com/coredns/coredns",
        version="v1.14.7",
        programs=(Program("coredns", "github.com/coredns/coredns", "node"),),
        why="pods of the real node find each other by name",
    ),
    Module(
        name="helm3",
        path="helm.sh/helm/v3",
        version="v3.22.0",
        programs=(Program("helm3", "helm.sh/helm/v3/cmd/helm", "chart"),),
        why="installs and upgrades the chart as most users do",
    ),
    Module(
        name="helm4",
        path="helm.sh/helm/v4",
        version="v4.3.1",
        programs=(Program("helm4", "helm.sh/helm/v4/cmd/helm", "chart"),),
        why="installs the chart by server-side apply",
    ),
    Module(
        name="kind",
        path="sigs.k8s.io/kind",
        version="v0.33.0",
        programs=(Program("kind", "sigs.k8s.io/kind", "kind"),),
        why="a cluster in containers, where there is an engine for them",
    ),
)


def version_of(name: str) -> str:
    """Return the version of a module, as Go writes it: with a v in front."""
    return next(module.version for module in MODULES if module.name == name)
