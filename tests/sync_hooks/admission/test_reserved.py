"""What admission reserves is what the rendered pods have: a user's own of the same name would collide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sync_hooks.admission.validation import reserved
from sync_hooks.admission.value import Value
from sync_hooks.planning import rendering
from sync_hooks.runtimes.registry import RUNTIMES
from sync_hooks.runtimes.workload import Workload
from tests.support.runs import FRAMEWORKS, run_spec

EACH_FRAMEWORK = pytest.mark.parametrize("framework", sorted(RUNTIMES))


def pods(framework: str) -> Iterator[dict[str, Any]]:
    workload = Workload(run_spec(framework).framework, "image:1", 2, 8, 3600)
    for job in RUNTIMES[framework](workload).runtime_spec["template"]["spec"]["replicatedJobs"]:
        yield job["template"]["spec"]["template"]["spec"]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


@EACH_FRAMEWORK
def test_every_rendered_name_and_place_is_reserved(framework: str) -> None:
    spec = Value({"framework": FRAMEWORKS[framework]}, ("spec",))
    for pod in pods(framework):
        assert {volume["name"] for volume in pod["volumes"]} <= reserved.reserved_volumes(spec).keys()
        for container in containers(pod):
            assert container["name"] in reserved.reserved_containers(spec)
            mounts = container.get("volumeMounts", [])
            assert {mount["mountPath"] for mount in mounts} <= reserved.reserved_mounts(spec).keys()
            assert {mount["name"] for mount in mounts} <= reserved.reserved_volumes(spec).keys()


@EACH_FRAMEWORK
def test_no_container_is_reserved_that_nobody_renders(framework: str) -> None:
    rendered = {container["name"] for pod in pods(framework) for container in containers(pod)}
    assert reserved.reserved_containers(Value({"framework": FRAMEWORKS[framework]})).keys() == rendered


def test_configuration_and_checkpoints_are_where_planning_puts_them() -> None:
    spec = Value({"config": {}, "checkpoint": {}}, ("spec",))
    assert {rendering.CONFIG_VOLUME, rendering.CHECKPOINT_VOLUME} <= reserved.reserved_volumes(spec).keys()
    assert {rendering.CONFIG_PATH, rendering.CHECKPOINT_PATH} <= reserved.reserved_mounts(spec).keys()


def test_the_reserved_variables_are_those_that_trainer_refuses() -> None:
    torch = reserved.reserved_variables(Value({"framework": {"torch": {}}}))
    mpi = reserved.reserved_variables(Value({"framework": {"mpi": {}}}))
    assert {name.partition("_")[0] for name in torch} == {"PET"}
    assert {name.partition("_MCA_")[0] for name in mpi} == {"OMPI"}
    assert reserved.reserved_variables(Value({"framework": {"exec": {}}})) == frozenset()
