"""Helm as functions: render a chart, lint it, and find an object in what comes out. Reaches no cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "charts" / "workloadrun"
KUBERNETES = "1.36.3"
DEVICE_APIS = ("resource.k8s.io/v1", "resource.nvidia.com/v1beta1")

Object = dict[str, Any]


class HelmError(Exception):
    """A call failed; the text is what Helm wrote."""


@dataclass(frozen=True, slots=True)
class Helm:
    """One version of Helm."""

    program: Path

    def __call__(self, *arguments: str) -> str:
        """Run Helm and return its standard output. Raises HelmError."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise HelmError(done.stderr + done.stdout)
        return done.stdout

    def lint(self, *sets: str) -> str:
        """Lint the chart strictly."""
        return self("lint", str(CHART), "--strict", f"--kube-version={KUBERNETES}", *_set(sets))

    def text(
        self,
        *sets: str,
        strings: Sequence[str] = (),
        apis: Sequence[str] = (),
        release: str = "workloadrun",
        namespace: str = "readiness",
    ) -> str:
        """Render the chart with these values (``a.b=c``; ``strings`` whatever they look like) where these APIs are."""
        versions = [f"--api-versions={api}" for api in apis]
        where = [f"--namespace={namespace}", f"--kube-version={KUBERNETES}"]
        texts = [f"--set-string={value}" for value in strings]
        return self("template", release, str(CHART), *where, *versions, *_set(sets), *texts)

    def render(self, *sets: str, **options: Any) -> list[Object]:
        """Render the chart, with options as for `text`, and return its objects."""
        return list(_rendered(self, sets, tuple(sorted(options.items()))))


@cache
def _rendered(helm: Helm, sets: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> tuple[Object, ...]:
    """Render once for all tests, which only look; by libyaml, because definitions are long."""
    text = helm.text(*sets, **dict(options))
    return tuple(document for document in yaml.load_all(text, yaml.CSafeLoader) if document)


def _set(sets: Sequence[str]) -> list[str]:
    return [f"--set={value}" for value in sets]


def of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    """Return the objects of a kind."""
    return [found for found in objects if found["kind"] == kind]


def one(objects: Sequence[Object], kind: str, ending: str = "") -> Object:
    """Return the one object of a kind whose name ends so."""
    [found] = [found for found in of_kind(objects, kind) if found["metadata"]["name"].endswith(ending)]
    return found


def pods(objects: Sequence[Object]) -> list[Object]:
    """Return the pod templates."""
    return [deployment["spec"]["template"] for deployment in of_kind(objects, "Deployment")]


def containers(pod: Object) -> list[Object]:
    """Return all containers of a pod template."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def names(objects: Sequence[Object]) -> set[tuple[str, str]]:
    """Return kind and name of every object."""
    return {(found["kind"], found["metadata"]["name"]) for found in objects}


def rules(role: Object) -> set[tuple[str, str, str]]:
    """Write a role's rules as (group, resource, verb), without its limits to names."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
