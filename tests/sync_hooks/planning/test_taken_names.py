"""Names and places that pods have already are refused in planning too: objects may be older than admission."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import nodes
from tests.support.planned import DEMO
from tests.support.runs import FRAMEWORKS, run_spec

CHECKPOINT = {"checkpoint": {"storageSize": "1Gi"}}
CONFIG = {"config": {"inline": {"a": "b"}}}


def volume(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": name, "emptyDir": {}}]}


def mount(path: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "emptyDir": {}}], "volumeMounts": [{"name": "v", "mountPath": path}]}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param(volume("dshm"), "spec.volumes[0].name: dshm is taken", id="shared memory"),
        pytest.param(
            volume("checkpoint") | CHECKPOINT, "spec.volumes[0].name: checkpoint is taken", id="the checkpoints' volume"
        ),
        pytest.param(mount("/dev/shm/"), "spec.volumeMounts[0].mountPath: /dev/shm is taken", id="its place"),
        pytest.param(mount("/config") | CONFIG, "spec.volumeMounts[0].mountPath: /config is taken", id="files"),
        pytest.param({"initContainers": [{"name": "node", "image": "x"}]}, "name: node is taken", id="the workload's"),
    ],
)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_the_pods_have_already_cannot_be_the_users(framework, fields, said):
    result = build(DEMO, run_spec(framework, **fields), nodes(2))
    assert isinstance(result, Unplannable)
    assert said in result.message


@pytest.mark.parametrize("fields", [volume("checkpoint"), mount("/config")], ids=["a volume", "a place"])
def test_names_of_what_the_run_does_not_ask_for_are_free(fields):
    assert not isinstance(build(DEMO, run_spec("torch", **fields), nodes(2)), Unplannable)
