"""Laws of the simulated cluster: it repeats itself, its caches catch up, its invariants hold whatever goes wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.clock import VirtualClock
from cli.simulator.entry import Change, Entry, Object, with_metadata
from cli.simulator.errors import ApiError
from cli.simulator.faults import Dice, Faults
from cli.simulator.garbage import GarbageCollector
from cli.simulator.informer import SharedInformers
from cli.simulator.kinds import CORE, CRE
from cli.simulator.logs import Output, read
from cli.simulator.scenario import OUTCOMES, Rule
from cli.simulator.simulation import Simulation
from cli.simulator.store import Store
from cli.simulator.workqueue import WorkQueue
from sync_hooks.api.quantity import whole_units
from tests.cli.simulator.cluster import (
    START,
    Hooks,
    config_map,
    controller,
    parent,
    simulation,
    stub,
    train_job,
    training_runtime,
)

KEY = "ConfigMap.v1"
odds = st.sampled_from([0.0, 0.1, 0.4])
faults = st.builds(
    Faults,
    seed=st.integers(0, 1 << 16),
    stale_events=st.integers(0, 20),
    reorder=st.booleans(),
    repeat=odds,
    hook_error=odds,
    answer_lost=odds,
    write_error=odds,
    write_lost=odds,
    crash=st.sampled_from([0.0, 0.05]),
    relapse=st.integers(0, 20),
)
names = st.sampled_from(["a", "b", "c", "d"])


def tree(request: Object) -> Object:
    """Make the ConfigMaps that the spec names, and say which there are."""
    known = {child["metadata"]["name"] for child in request["children"][KEY].values()}
    wanted = request["parent"]["spec"]["names"]
    children = [stub(config_map(name)) if name in known else config_map(name) for name in wanted]
    return {"status": {"known": sorted(known)}, "children": children}


def tree_cluster(drawn: Faults, *specs: list[str]) -> Simulation:
    """Run a parent through specs that change while everything else may go wrong."""
    cluster = simulation(
        Hooks({"c": tree}), [controller("c", (CRE, "workloadruns"), ((CORE, "configmaps"),))], faults=drawn
    )
    cluster.store.create(parent(spec={"names": specs[0]}))
    for number, wanted in enumerate(specs[1:], start=1):
        spec = {"names": wanted}
        cluster.clock.schedule(3 * number, lambda spec=spec: cluster.store.update(parent(spec=spec)))  # type: ignore[misc]
    return cluster


@settings(max_examples=60, deadline=None)
@given(faults, st.lists(st.lists(names, unique=True), min_size=1, max_size=4))
def test_whatever_goes_wrong_the_children_become_those_that_are_wanted(drawn: Faults, specs: list[list[str]]) -> None:
    cluster = tree_cluster(drawn, *specs)
    assert cluster.run(1e7).stopped == "idle"
    found = {entry.name for entry in cluster.store.select(CORE, "ConfigMap")}
    assert found == set(specs[-1])
    run = cluster.store.get(CRE, "WorkloadRun", "default", "run")
    assert run.obj["status"] == {"known": sorted(found), "observedGeneration": run.metadata["generation"]}


@settings(max_examples=20, deadline=None)
@given(faults, st.lists(st.lists(names, unique=True), min_size=1, max_size=3))
def test_equal_seeds_give_equal_runs(drawn: Faults, specs: list[list[str]]) -> None:
    assert tree_cluster(drawn, *specs).run(1e7) == tree_cluster(drawn, *specs).run(1e7)


operations = st.lists(
    st.tuples(st.sampled_from(["create", "label", "status", "own", "delete", "free"]), names, st.integers(0, 3)),
    max_size=40,
)


def operate(store: Store, operation: str, name: str, number: int) -> None:
    entry = store.find(CRE, "Job", "default", name)
    if operation == "create":
        finalizers = ["f/hold"] if number == 3 else []
        store.create(
            parent(name, "Job", labels={"n": str(number)}, **({"finalizers": finalizers} if finalizers else {}))
        )
    elif entry is None:
        return
    elif operation == "label":
        store.update(with_metadata(entry.obj, labels={"n": str(number)}))
    elif operation == "status":
        store.update_status({**entry.obj, "status": {"n": number}})
    elif operation == "own":
        other = store.find(CRE, "Job", "default", "abcd"[number])
        references = [] if other is None else [owner(other)]
        store.update(with_metadata(entry.obj, ownerReferences=references))
    elif operation == "delete":
        store.delete(entry, propagation=("Background", "Foreground", "Orphan", None)[number])  # type: ignore[arg-type]
    else:
        store.update(with_metadata(entry.obj, finalizers=[item for item in entry.finalizers if item != "f/hold"]))


def owner(entry: Entry) -> Object:
    return {"apiVersion": CRE, "kind": "Job", "name": entry.name, "uid": entry.uid, "blockOwnerDeletion": True}


@settings(max_examples=150, deadline=None)
@given(operations)
def test_watch_events_retell_the_store_and_versions_only_grow(drawn: list[tuple[str, str, int]]) -> None:
    store = Store(lambda: "2026-01-01T00:00:00Z")
    told: dict[str, Entry] = {}
    versions = [0]

    def note(change: Change) -> None:
        versions.append(change.entry.version)
        if change.type == "DELETED":
            del told[change.entry.uid]
        else:
            assert (change.type == "ADDED") is (change.entry.uid not in told)
            told[change.entry.uid] = change.entry

    store.watch(note)
    for operation in drawn:
        attempt(store, operation)
        assert sorted(told) == sorted(entry.uid for entry in store.all())
        assert all(store.by_uid(uid) is entry for uid, entry in told.items())
        for number in "0123":
            brute = sorted(entry.name for entry in store.all() if entry.labels.get("n") == number)
            assert [entry.name for entry in store.select(CRE, "Job", None, {"n": number})] == brute
        for entry in store.all():
            brute = sorted(item.uid for item in store.all() if entry.uid in item.owners)
            assert sorted(item.uid for item in store.dependents(entry.uid)) == brute
    assert versions == sorted(set(versions))


def attempt(store: Store, operation: tuple[str, str, int]) -> None:
    try:
        operate(store, *operation)
    except ApiError:
        return


@settings(max_examples=100, deadline=None)
@given(operations, st.integers(0, 10), st.booleans(), odds)
def test_caches_catch_up_whatever_the_watch_does(
    drawn: list[tuple[str, str, int]], stale: int, reorder: bool, repeat: float
) -> None:
    clock = VirtualClock(START)
    store = Store(clock.stamp)
    dice = Dice(Faults(stale_events=stale, reorder=reorder, repeat=repeat))
    cache = SharedInformers(store, clock, dice).of(store.kind(CRE, "Job"))
    for index, operation in enumerate(drawn):
        attempt(store, operation)
        clock.advance(0.03 if index % 3 else 0.0)
    clock.advance(60)
    assert {entry.uid: entry.version for entry in cache.entries()} == {
        entry.uid: entry.version for entry in store.all()
    }
    for entry in store.all():
        assert cache.find(*entry.key) is not None


@settings(max_examples=150, deadline=None)
@given(operations)
def test_in_the_end_nothing_is_left_that_nobody_owns(drawn: list[tuple[str, str, int]]) -> None:
    clock = VirtualClock(START)
    store = Store(clock.stamp)
    GarbageCollector(store, clock)
    for number, name in enumerate("abcd"):  # a owns b owns c owns d
        store.create(parent(name, "Job"))
        attempt(store, ("own", name, number - 1) if number else ("label", name, 0))
    for operation in drawn:
        attempt(store, operation)
        clock.advance(0.5)
    for name in "abcd":
        attempt(store, ("free", name, 0))
    clock.advance(300)
    for entry in store.all():
        assert not entry.owners or any(store.by_uid(uid) is not None for uid in entry.owners) or cyclic(store, entry)
        assert not entry.deleting or cyclic(store, entry)


def cyclic(store: Store, entry: Entry) -> bool:
    """Tell whether an object owns itself in the end: nothing collects such a ring, on a real cluster either."""
    seen, pending = set[str](), list(entry.owners)
    while pending:
        uid = pending.pop()
        if uid not in seen and (found := store.by_uid(uid)) is not None:
            seen.add(uid)
            pending += found.owners
    return any(uid in (store.by_uid(uid) or entry).owners or uid == entry.uid for uid in seen)


groups = st.lists(st.sets(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=6)
rules = st.lists(
    st.builds(
        Rule,
        outcome=st.sampled_from([outcome for outcome in OUTCOMES if outcome != "Hang"]),
        nodes=st.sampled_from([frozenset[str](), frozenset({"gpu-0000"}), frozenset({"gpu-0003"})]),
        after=st.floats(1, 300),
    ),
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(groups, rules, st.booleans())
def test_every_workload_ends_and_no_node_is_ever_given_away_twice(
    drawn: list[set[int]], played: list[Rule], mpi: bool
) -> None:
    cluster = simulation(Hooks({}), [], rules=tuple(played))
    cluster.store.create(training_runtime(mpi=mpi))
    cluster.store.watch(lambda change: check_nodes(cluster), "Pod")
    for index, group in enumerate(drawn):
        nodes = tuple(f"gpu-{number:04d}" for number in sorted(group))
        cluster.store.create(train_job(f"job{index}-w0", nodes, mpi=mpi))
    assert cluster.run(1e6).stopped == "idle"
    for job in cluster.store.select("trainer.kubeflow.org/v1alpha1", "TrainJob"):
        ended = [item["type"] for item in job.obj["status"]["conditions"] if item["status"] == "True"]
        assert ended in (["Complete"], ["Failed"])


def check_nodes(cluster: Simulation) -> None:
    used: Counter[str] = Counter()
    for pod in cluster.store.select(CORE, "Pod"):
        if pod.obj["status"]["phase"] in ("Succeeded", "Failed") or "nodeName" not in pod.obj["spec"]:
            continue
        limits: dict[str, Any] = pod.obj["spec"]["containers"][0]["resources"]["limits"]
        used[pod.obj["spec"]["nodeName"]] += whole_units(limits.get("nvidia.com/gpu", 0))
    assert all(amount <= 8 for amount in used.values())


@given(
    st.lists(st.tuples(st.sampled_from(["add", "later", "take", "done", "wait"]), st.sampled_from("ab")), max_size=60)
)
def test_no_key_is_worked_on_twice_at_a_time_and_none_is_lost(drawn: list[tuple[str, str]]) -> None:
    clock = VirtualClock(START)
    queue = WorkQueue[str](clock, lambda: None)
    working: list[str] = []
    asked: set[str] = set()
    for action, key in drawn:
        if action in ("add", "later"):
            asked.add(key)
            queue.add_after(key, 5 if action == "later" else 0)
        elif action == "take" and (taken := queue.take()) is not None:
            assert taken not in working
            working.append(taken)
            asked.discard(taken) if action == "add" else None
        elif action == "done" and key in working:
            working.remove(key)
            queue.done(key)
        elif action == "wait":
            clock.advance(1)
    clock.advance(10)
    for key in list(working):
        queue.done(key)
    left = set()
    while (key := queue.take()) is not None:  # type: ignore[assignment]
        assert key not in left
        left.add(key)
    assert left <= asked | set(working) | {key for _, key in drawn}


@given(
    st.lists(st.text(st.characters(codec="ascii", exclude_characters="\n\r"), max_size=20), max_size=30),
    st.floats(0, 200),
    st.integers(0, 400),
    st.none() | st.integers(0, 40),
    st.integers(0, 2000),
)
def test_a_log_only_grows_and_every_piece_is_a_piece_of_the_whole(
    lines: list[str], seconds: float, age: int, tail: int | None, limit: int
) -> None:
    from datetime import timedelta

    output = Output(tuple(lines), START, seconds, START + timedelta(seconds=100), "last")

    def content(at: int, **more: Any) -> bytes:
        arguments: dict[str, Any] = {"since": None, "tail_lines": None, "limit_bytes": 1 << 30, **more}
        return read(output, START + timedelta(seconds=at), **arguments)[0]

    whole, later = content(age), content(age + 50)
    assert later.startswith(whole)
    assert content(age, limit_bytes=limit) == whole[:limit]
    assert whole.endswith(content(age, tail_lines=tail))
    assert content(age, since="2026-01-01T00:00:30Z") in whole
