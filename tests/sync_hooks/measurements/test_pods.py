"""Which pod's log is read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Pod
from sync_hooks.measurements.pods import NotThere, sources
from tests.support.hooks import live
from tests.sync_hooks.measurements.worlds import jobset, pod

MPI = {"node": 2, "launcher": 1}
NODES = {"node": 3}


def chosen(
    pods: Sequence[Pod],
    roles: Mapping[str, int] = NODES,
    *,
    name: str | None = None,
    container: str | None = None,
    ends: Sequence[str] = ("first",),
    trainer: str = "node",
) -> Any:
    shuffled = list(pods)
    random.Random(7).shuffle(shuffled)  # order must not matter
    found = sources(shuffled, live(jobset(roles=roles, trainer=trainer)), name, container, ends)
    return found if isinstance(found, NotThere) else [(source.pod, source.container) for source in found]


@pytest.mark.parametrize(
    ("name", "trainer", "expected"),
    [
        pytest.param(None, "launcher", "job-w0-launcher-0-0", id="the replicatedJob that Trainer fills in"),
        pytest.param("node", "launcher", "job-w0-node-0-0", id="the one that the profile names"),
        pytest.param("launcher", "node", "job-w0-launcher-0-0", id="the one named, whatever is labelled"),
    ],
)
def test_the_replicated_job_is_chosen_by_name_or_by_ancestor(name: str | None, trainer: str, expected: str) -> None:
    pods = [pod("node", 0), pod("node", 1), pod("launcher", 0)]
    assert chosen(pods, MPI, name=name, trainer=trainer) == [(expected, "node")]


def test_the_ancestor_label_on_pods_does_where_the_jobset_does_not_tell() -> None:
    labelled = pod("node", 0)
    labels = {**labelled.labels, "trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    metadata = {"name": "p", "labels": labels}
    worker = msgspec.convert({**msgspec.to_builtins(labelled), "metadata": metadata}, Pod)
    assert chosen([worker, pod("launcher", 0)], MPI, trainer="nobody") == [("p", "node")]


def test_first_and_last_are_by_index_not_by_name() -> None:
    pods = [pod("node", 2, name="a"), pod("node", 1, name="b"), pod("node", 0, name="c")]
    assert chosen(pods, ends=("first", "last")) == [("c", "node"), ("a", "node")]


def test_the_last_of_ten_is_not_the_ninth() -> None:
    pods = [pod("node", index) for index in range(11)]
    assert chosen(pods, {"node": 11}, ends=("last",)) == [("job-w0-node-0-10", "node")]


def test_the_last_pod_is_waited_for_not_replaced_by_what_is_there() -> None:
    found = chosen([pod("node", 0), pod("node", 1)], ends=("first", "last"))
    assert (found.reason, found.gone) == ("PodNotFound", True)


def test_two_ends_of_one_pod_are_read_once() -> None:
    assert chosen([pod("node", 0)], {"node": 1}, ends=("first", "last")) == [("job-w0-node-0-0", "node")]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [pod("node", 0, name="f", phase="Failed"), pod("node", 0, name="r")], "r", id="running before failed"
        ),
        pytest.param(
            [pod("node", 0, name="r"), pod("node", 0, name="s", phase="Succeeded")], "s", id="succeeded first"
        ),
        pytest.param([pod("node", 0, name="a"), pod("node", 0, name="b", restart=1)], "b", id="latest restart"),
        pytest.param([pod("node", 0, name="a", started=1), pod("node", 0, name="b", started=2)], "b", id="newest"),
        pytest.param([pod("node", 0, name="b"), pod("node", 0, name="a")], "a", id="name last of all"),
    ],
)
def test_among_pods_of_one_index_the_order_is_stable(pods: list[Pod], expected: str) -> None:
    assert chosen(pods, {"node": 1}) == [(expected, "node")]


def test_a_pod_that_only_claims_the_name_is_never_read() -> None:
    forged = pod("node", 0, name="a-forged", jobset_uid="uid-of-another")
    assert chosen([forged, pod("node", 0)]) == [("job-w0-node-0-0", "node")]
    assert chosen([forged]).reason == "PodNotFound"


@pytest.mark.parametrize(
    ("containers", "wanted", "expected"),
    [
        pytest.param(["main"], None, "main", id="the only one"),
        pytest.param(["sidecar", "node"], None, "node", id="Trainer's among several"),
        pytest.param(["b", "a"], None, "b", id="the first of others"),
        pytest.param(["node", "logger"], "logger", "logger", id="the one that the profile names"),
    ],
)
def test_the_container_is_resolved(containers: list[str], wanted: str | None, expected: str) -> None:
    pods = [pod("node", 0, containers=containers)]
    assert chosen(pods, container=wanted) == [("job-w0-node-0-0", expected)]


@pytest.mark.parametrize(
    ("pods", "options", "reason"),
    [
        pytest.param([], {}, "PodNotFound", id="no pod"),
        pytest.param([pod("node", 0, phase="Pending")], {}, "PodNotStarted", id="pending"),
        pytest.param([pod("node", 0)], {"container": "other"}, "ContainerNotFound", id="no such container"),
        pytest.param([pod("node", 0)], {"name": "other"}, "ReplicatedJobNotFound", id="no such replicatedJob"),
        pytest.param([pod("node", 0)], {"trainer": "nobody"}, "ReplicatedJobNotFound", id="no ancestor"),
    ],
)
def test_what_is_not_there_has_its_reason(pods: list[Pod], options: dict[str, Any], reason: str) -> None:
    assert chosen(pods, **options).reason == reason


def test_a_jobset_of_another_shape_has_no_replicated_job() -> None:
    odd = live({**jobset(), "spec": {"replicatedJobs": "none"}})
    found = sources([pod()], odd, None, None, ("first",))
    assert isinstance(found, NotThere)
    assert found.reason == "ReplicatedJobNotFound"
