"""What the engines ask of the hooks as a whole: one writer of each status, children never changed, reads shared."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations
from typing import Any

import msgspec
import pytest

from cli.simulator.entry import Object
from cli.simulator.selector import Selector
from cli.simulator.simulation import product_controllers
from sync_hooks.api.model import Condition
from sync_hooks.api.sync import Event, ListNodes, ListPods, ReadLog, Unreadable
from sync_hooks.execution.answers import transitions
from tests.support.hooks import NOW, live, manifest
from tests.support.hooks import condition as api_condition
from webhook.apiserver import ApiServer, Path
from webhook.events import event_object
from webhook.observer import Observer

PARENT = live(manifest("Job", "run-g0-i1"))
LABELS: tuple[dict[str, str], ...] = ({}, {"cre.nvidia.com/devices": "true"}, {"cre.nvidia.com/devices": "false"})
CONTROLLERS = tuple(controller["spec"] for controller in product_controllers())


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_no_object_has_two_controllers_so_that_each_status_has_one_writer(labels: Mapping[str, str]) -> None:
    for one, other in combinations(CONTROLLERS, 2):
        if one["parentResource"]["resource"] == other["parentResource"]["resource"]:
            assert not (selects(one, labels) and selects(other, labels))


def selects(spec: Object, labels: Mapping[str, str]) -> bool:
    return Selector.parse(spec["parentResource"].get("labelSelector") or {}).matches(labels)


def test_only_measurements_are_updated_in_place_so_that_a_stub_keeps_everything_else_as_it_is() -> None:
    rules = [rule for spec in CONTROLLERS for rule in spec.get("childResources") or ()]
    updated = {rule["resource"] for rule in rules if rule["updateStrategy"]["method"] != "OnDelete"}
    assert updated == {"bandwidthmeasurements", "goodputmeasurements"}


def test_no_controller_asks_for_related_objects_which_would_be_walked_at_every_heartbeat() -> None:
    assert {hook for spec in CONTROLLERS for hook in spec["hooks"]} == {"sync", "finalize"}


def test_only_jobs_with_devices_have_a_finalizer() -> None:
    finalized = [spec["parentResource"]["labelSelector"] for spec in CONTROLLERS if "finalize" in spec["hooks"]]
    assert finalized == [{"matchLabels": {"cre.nvidia.com/devices": "true"}}]


# Events


def named(event: Event, seconds: float = 0) -> str:
    name: str = event_object(PARENT, event, NOW + timedelta(seconds=seconds))["metadata"]["name"]
    return name


def test_a_transition_that_is_told_again_is_the_same_event() -> None:
    event = Event("Warning", "WorkloadFailed", "exit code 1", "Failed")
    assert named(event) == named(Event("Warning", "WorkloadFailed", "exit code 1; node n0", "Failed"), 60)
    assert named(event) != named(Event("Warning", "JobTimedOut", "exit code 1", "Failed"))
    assert named(event) != named(Event("Normal", "WorkloadFailed", "exit code 1", "Succeeded"))


def test_a_changed_message_is_no_event() -> None:
    old = Condition.model_validate(api_condition("InProgress", message="1 of 4 groups done"))
    new = old.model_copy(update={"message": "2 of 4 groups done"})
    assert transitions([], [old]) != ()
    assert transitions([old], [new]) == ()


# Reads


class Api(ApiServer):
    """An API server in memory that counts what it is asked: a fake of the client."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def get(
        self,
        path: Path,
        query: Mapping[str, str | int] | None = None,
        *,
        seconds: float = 0,
        accept: str = "application/json",
    ) -> bytes:
        self.asked.append(path.url(query))
        found = self._answers[path.resource if not path.subresource else path.subresource]
        return found if isinstance(found, bytes) else msgspec.json.encode(found)


def pod_of(jobset: str) -> Object:
    return {"metadata": {"name": f"{jobset}-pod", "labels": {"jobset.sigs.k8s.io/jobset-name": jobset}}}


def test_many_jobs_share_one_list_of_pods_and_one_of_nodes() -> None:
    api = Api({"pods": {"items": [pod_of(f"g{number}") for number in range(50)]}, "nodes": {"items": []}})
    observer = Observer(api)
    for number in range(50):
        assert [pod.name for pod in observer.read(ListPods("default", f"g{number}"))] == [f"g{number}-pod"]
        observer.read(ListNodes())
    assert len(api.asked) == 2


def test_what_frees_nodes_or_makes_a_plan_is_read_past_the_shared_lists() -> None:
    api = Api({"pods": {"items": []}, "nodes": {"items": []}})
    observer = Observer(api)
    for _ in range(2):
        observer.read(ListPods("default", "g0", fresh=True))
        observer.read(ListNodes(max_age=0))
    assert len(api.asked) == 4
    assert "jobset-name%3Dg0" in api.asked[0]


def test_a_log_is_read_up_to_its_bound_and_no_further() -> None:
    api = Api({"log": b"2026-01-01T12:00:00Z " + b"x" * 5000})
    log = Observer(api).read(ReadLog("default", "pod", "node", limit_bytes=1000))
    assert (len(log.content), log.truncated) == (1000, True)
    assert "limitBytes=1000" in api.asked[0]


def test_a_kubelets_words_about_a_log_are_not_taken_for_it() -> None:
    words = b"unable to retrieve container logs for containerd://0a1b2c3d"
    found = Observer(Api({"log": words})).read(ReadLog("default", "pod", "node"))
    assert found == Unreadable(f"what came is no log: {words.decode()}")
