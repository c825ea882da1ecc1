"""The garbage collector deletes, keeps, waits and gets stuck as the real one does."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cli.simulator.clock import VirtualClock
from cli.simulator.entry import Entry, Object
from cli.simulator.garbage import GarbageCollector
from cli.simulator.simulation import Simulation
from cli.simulator.store import Propagation, Store
from tests.cli.simulator.cluster import (
    START,
    Hooks,
    config_map,
    live,
    parent,
    simulation,
    train_job,
    training_runtime,
)


@dataclass
class Cluster:
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.clock.stamp)
        GarbageCollector(self.store, self.clock)

    def make(self, name: str, *owners: Entry, namespace: str = "default", block: bool = True) -> Entry:
        references = [reference(owner, controller=index == 0, block=block) for index, owner in enumerate(owners)]
        return self.store.create(config_map(name, namespace=namespace, ownerReferences=references))

    def names(self) -> set[str]:
        return {entry.name for entry in self.store.all()}

    def finalizers(self, name: str) -> tuple[str, ...]:
        return self.store.get("v1", "ConfigMap", "default", name).finalizers


def reference(owner: Entry, *, controller: bool, block: bool) -> Object:
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": controller,
        "blockOwnerDeletion": block,
    }


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_background_deletion_reaches_dependents_later(cluster: Cluster) -> None:
    run = cluster.make("run")
    cluster.make("child", cluster.make("job", run))
    cluster.store.delete(run)
    assert cluster.names() == {"job", "child"}
    cluster.clock.advance(60)
    assert cluster.names() == set()


def test_an_owner_that_is_gone_and_is_written_again_is_taken_off_again(cluster: Cluster) -> None:
    first, second = cluster.make("first"), cluster.make("second")
    shared = cluster.make("shared", second, first)
    cluster.store.delete(first, propagation="Background")
    cluster.clock.advance(60)
    alone = cluster.store.by_uid(shared.uid)
    assert alone is not None
    assert alone.owners == (second.uid,)
    cluster.store.update(
        {**alone.obj, "metadata": {**alone.metadata, "ownerReferences": shared.metadata["ownerReferences"]}}
    )
    cluster.clock.advance(60)
    again = cluster.store.by_uid(shared.uid)
    assert again is not None
    assert again.owners == (second.uid,)


def test_an_object_with_a_second_owner_stays_and_loses_the_first(cluster: Cluster) -> None:
    workflow, job = cluster.make("workflow"), cluster.make("job")
    cluster.make("measurement", job, workflow)
    cluster.store.delete(job)
    cluster.clock.advance(60)
    kept = cluster.store.get("v1", "ConfigMap", "default", "measurement")
    assert kept.owners == (workflow.uid,)
    assert kept.controller is None


@pytest.mark.parametrize(("block", "stays"), [(True, True), (False, False)])
def test_foreground_deletion_waits_for_dependents_that_block_it(cluster: Cluster, block: bool, stays: bool) -> None:
    run = cluster.make("run")
    child = cluster.make("child", run, block=block)
    held = {**child.obj, "metadata": {**child.metadata, "finalizers": ["f/hold"]}}
    cluster.store.update(held)
    cluster.store.delete(run, propagation="Foreground")
    cluster.clock.advance(60)
    assert ("run" in cluster.names()) is stays
    held = cluster.store.get("v1", "ConfigMap", "default", "child").obj
    cluster.store.update({**held, "metadata": {**held["metadata"], "finalizers": []}})
    cluster.clock.advance(60)
    assert cluster.names() == set()


def test_foreground_deletion_goes_down_before_it_goes_up(cluster: Cluster) -> None:
    run = cluster.make("run")
    cluster.make("leaf", cluster.make("middle", run))
    order: list[str] = []
    cluster.store.watch(lambda change: order.append(change.entry.name) if change.type == "DELETED" else None)
    cluster.store.delete(run, propagation="Foreground")
    cluster.clock.advance(60)
    assert order == ["leaf", "middle", "run"]


def test_orphaned_dependents_stay_without_owner(cluster: Cluster) -> None:
    run = cluster.make("run")
    cluster.make("child", run)
    cluster.store.delete(run, propagation="Orphan")
    cluster.clock.advance(60)
    assert cluster.names() == {"child"}
    assert cluster.store.get("v1", "ConfigMap", "default", "child").owners == ()


def test_a_child_made_for_an_owner_that_is_gone_is_collected(cluster: Cluster) -> None:
    run = cluster.make("run")
    cluster.store.delete(run)
    cluster.make("late", run)
    cluster.clock.advance(60)
    assert cluster.names() == set()


def test_an_owner_in_another_namespace_counts_as_absent(cluster: Cluster) -> None:
    cluster.make("child", cluster.make("run", namespace="other"))
    cluster.clock.advance(60)
    assert cluster.names() == {"run"}


def owned_train_job(cluster: Simulation, owners: list[Entry]) -> None:
    job = train_job("job", ("gpu-0000",))
    job["metadata"]["ownerReferences"] = [
        reference(owner, controller=index == 0, block=True) for index, owner in enumerate(owners)
    ]
    cluster.store.create(job)


def teardown(propagation: Propagation, *, second_owner: bool) -> Simulation:
    """Delete a Job whose runtime goes first, as under Argo CD."""
    cluster = simulation(Hooks({}), [])
    workflow = cluster.store.create(parent("wf", "Workflow"))
    job = cluster.store.create(parent("job", "Job", ownerReferences=[reference(workflow, controller=True, block=True)]))
    runtime = training_runtime()
    runtime["metadata"]["ownerReferences"] = [reference(workflow, controller=True, block=True)]
    made = cluster.store.create(runtime)
    owned_train_job(cluster, [job, made] if second_owner else [job])
    cluster.run(30)
    cluster.store.delete(workflow, propagation=propagation)
    if not second_owner:
        cluster.store.delete(made)
    cluster.clock.advance(120)
    return cluster


def test_a_train_job_whose_runtime_went_first_is_stuck_until_one_of_that_name_is_made_again() -> None:
    cluster = teardown("Foreground", second_owner=False)
    stuck = live(cluster, "TrainJob", "job", "trainer.kubeflow.org/v1alpha1")
    assert stuck is not None
    assert stuck.finalizers == ("foregroundDeletion",)
    rescue = training_runtime()
    cluster.store.create(rescue)
    cluster.clock.advance(120)
    assert live(cluster, "TrainJob", "job", "trainer.kubeflow.org/v1alpha1") is None
    assert live(cluster, "Workflow", "wf") is None


def test_with_the_runtime_as_second_owner_a_foreground_deletion_ends() -> None:
    cluster = teardown("Foreground", second_owner=True)
    left = {(entry.kind.kind, entry.name) for entry in cluster.store.all() if entry.kind.kind not in ("Node", "Event")}
    assert left == set()
