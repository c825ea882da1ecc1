"""Every fault switch does what it says, and a hook that is level-triggered gets over each of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from cli.simulator.entry import Change, Object, with_metadata
from cli.simulator.faults import Faults
from cli.simulator.kinds import CORE, CRE
from cli.simulator.pace import Pace
from cli.simulator.simulation import Simulation
from sync_hooks.api.sync import GetObject, ListPods, ReadLog, Unreadable
from tests.cli.simulator.cluster import Hooks, config_map, controller, parent, simulation, stub

KEY = "ConfigMap.v1"
NAMES = ("a", "b", "c", "d")
RUNS = (CRE, "workloadruns")


def hook(request: Object) -> Object:
    """Make four ConfigMaps, one a sync, and say how many there are."""
    known = {child["metadata"]["name"] for child in request["children"][KEY].values()}
    wanted = [name for name in NAMES if name in known] + [name for name in NAMES if name not in known][:1]
    children = [stub(config_map(name)) if name in known else config_map(name) for name in wanted]
    return {"status": {"known": len(known)}, "children": children}


def cluster_with(hooks: Hooks, **faults: Any) -> Simulation:
    cluster = simulation(hooks, [controller("c", RUNS, ((CORE, "configmaps"),))], faults=Faults(**faults))
    cluster.store.create(parent())
    return cluster


def converged(cluster: Simulation) -> bool:
    run = cluster.store.get(CRE, "WorkloadRun", "default", "run").obj
    names = tuple(entry.name for entry in cluster.store.select(CORE, "ConfigMap"))
    return names == NAMES and run.get("status", {}).get("known") == len(NAMES)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "faults",
    [
        {"stale_events": 3},
        {"stale_events": 50, "stale_seconds": 30},
        {"reorder": True},
        {"repeat": 0.5},
        {"hook_error": 0.5},
        {"answer_lost": 0.3},
        {"write_error": 0.3},
        {"write_lost": 0.3},
        {"crash": 0.1},
        {"crash": 0.1, "relapse": 10},
        {"stale_events": 3, "reorder": True, "repeat": 0.3, "hook_error": 0.2, "write_lost": 0.2, "crash": 0.05},
    ],
    ids=["stale", "late", "reorder", "repeat", "hook", "answer", "write", "lost-write", "crash", "relapse", "all"],
)
def test_a_level_triggered_hook_gets_over_it(faults: Object, seed: int) -> None:
    cluster = cluster_with(Hooks({"c": hook}), seed=seed, **faults)
    report = cluster.run(24 * 3600)
    assert report.stopped == "idle"
    assert converged(cluster)


def test_without_faults_nothing_is_drawn_and_nothing_fails() -> None:
    cluster = cluster_with(Hooks({"c": hook}))
    cluster.run(3600)
    assert converged(cluster)
    assert cluster.metacontroller.restarts == 0
    assert cluster.store.select(CORE, "Event") == []


def test_a_stale_cache_is_as_many_events_behind_for_a_bounded_time() -> None:
    hooks = Hooks({"c": lambda request: {}})
    cluster = cluster_with(hooks, stale_events=2, stale_seconds=10)
    for number in range(3):
        cluster.clock.advance(1)
        run = cluster.store.get(CRE, "WorkloadRun", "default", "run")
        cluster.store.update(with_metadata(run.obj, annotations={"n": str(number)}))
    cluster.clock.advance(1)
    seen = [request["parent"]["metadata"].get("annotations", {}).get("n") for request in hooks.sent("c")]
    assert "2" not in seen
    cluster.run(3600)
    assert hooks.sent("c")[-1]["parent"]["metadata"]["annotations"] == {"n": "2"}
    assert cluster.clock.time < 40


def test_events_of_one_kind_keep_their_order_when_kinds_overtake_each_other() -> None:
    orders = set()
    for seed in range(10):
        hooks = Hooks({"c": lambda request: {}, "d": lambda request: {}})
        definitions = [controller("c", RUNS), controller("d", (CRE, "workflows"))]
        cluster = simulation(hooks, definitions, faults=Faults(seed=seed, reorder=True))
        for name in ("1", "2"):
            cluster.store.create(parent(name))
            cluster.store.create(parent(name, "Workflow"))
        cluster.run(60)
        first_calls = [(name, request["parent"]["metadata"]["name"]) for name, _, request in hooks.requests[:4]]
        for name in ("c", "d"):
            assert [number for controller_name, number in first_calls if controller_name == name] == ["1", "2"]
        orders.add(tuple(first_calls))
    assert len(orders) > 1


def test_a_repeated_event_of_a_child_starts_no_sync_and_one_of_a_parent_does() -> None:
    counts = {}
    for repeat in (0.0, 1.0):
        hooks = Hooks({"c": lambda request: {"status": {}}})
        cluster = cluster_with(hooks, repeat=repeat)
        cluster.run(60)
        cluster.store.create(config_map("x", namespace="default"))
        cluster.run(60)
        counts[repeat] = len(hooks.requests)
    assert counts[1.0] >= counts[0.0]


@pytest.mark.parametrize("step", range(1, 12))
def test_a_process_that_dies_at_any_step_starts_again_and_goes_on(step: int) -> None:
    hooks = Hooks({"c": hook})
    cluster = cluster_with(hooks, crash_at=frozenset({step}))
    cluster.run(3600)
    assert cluster.metacontroller.restarts == 1
    assert cluster.clock.time > 5
    assert converged(cluster)


def test_a_process_that_died_does_nothing_until_it_is_back() -> None:
    hooks = Hooks({"c": hook})
    cluster = cluster_with(hooks, crash_at=frozenset({1}), restart_seconds=100.0)
    writes: list[Change] = []
    cluster.store.watch(writes.append)
    cluster.clock.advance(99)
    assert (hooks.requests, writes) == ([], [])
    cluster.run(3600)
    assert converged(cluster)


def test_a_sync_that_was_under_way_dies_with_the_process() -> None:
    definition = controller("c", RUNS, ((CORE, "configmaps"),))
    pace, dies = Pace(hook_seconds=3), Faults(crash_at=frozenset({3}), restart_seconds=100)
    cluster = simulation(Hooks({"c": hook}), [definition], pace=pace, faults=dies)
    for name in ("first", "second"):
        cluster.store.create(parent(name))
    cluster.clock.advance(50)
    assert cluster.metacontroller.restarts == 1
    assert cluster.store.select(CORE, "ConfigMap") == []
    cluster.run(3600)
    assert len(cluster.store.select(CORE, "ConfigMap")) == len(NAMES)


def test_a_process_that_starts_may_list_a_state_from_before_the_one_that_died_and_catches_up() -> None:
    fell_back = set()
    for seed in range(5):  # which kind is behind is drawn
        hooks = Hooks({"c": hook})
        cluster = cluster_with(hooks, seed=seed, crash_at=frozenset({14}), relapse=1)
        cluster.run(3600)
        assert cluster.metacontroller.restarts == 1
        assert converged(cluster)
        known = [len(request["children"][KEY]) for request in hooks.sent("c")]
        assert known[-1] == len(NAMES)
        fell_back.add(any(later < earlier for earlier, later in pairwise(known)))
    assert fell_back == {True, False}


def test_what_a_dead_process_had_planned_is_forgotten() -> None:
    hooks = Hooks({"c": lambda request: {"resyncAfterSeconds": 50} if len(hooks.requests) == 1 else {}})
    cluster = cluster_with(hooks, crash_at=frozenset({4}))
    run = cluster.store.get(CRE, "WorkloadRun", "default", "run")
    cluster.clock.schedule(
        10, lambda: cluster.store.update(with_metadata(run.obj, annotations={"a": "b"}, resourceVersion=None))
    )
    cluster.run(3600)
    assert cluster.metacontroller.restarts == 1
    assert cluster.clock.time < 49


def test_a_lost_answer_means_that_the_hook_ran_but_nothing_was_applied() -> None:
    hooks = Hooks({"c": hook})
    cluster = cluster_with(hooks, answer_lost=1.0)
    cluster.run(600)
    assert len(hooks.requests) > 2
    assert cluster.store.select(CORE, "ConfigMap") == []


def test_a_failing_hook_is_never_reached() -> None:
    hooks = Hooks({"c": hook})
    cluster = cluster_with(hooks, hook_error=1.0)
    cluster.run(600)
    assert hooks.requests == []


def test_reads_fail_as_data() -> None:
    hooks = Hooks({"c": hook})
    cluster = cluster_with(hooks, unreadable=frozenset({"ReadLog"}))
    reader = cluster.reader
    assert reader.read(ReadLog("default", "p", "c")) == Unreadable("ReadLog: injected failure")
    assert reader.read(ListPods("default", "j")) == ()
    cluster = cluster_with(hooks, read_error=1.0)
    assert isinstance(cluster.reader.read(GetObject(CRE, "WorkloadRun", "run", "default")), Unreadable)


def test_equal_seeds_fail_equally_and_other_seeds_otherwise() -> None:
    def story(seed: int) -> list[tuple[str, str]]:
        hooks = Hooks({"c": hook})
        cluster = cluster_with(hooks, seed=seed, crash=0.1, hook_error=0.3, write_lost=0.3, stale_events=2)
        cluster.run(3600)
        return [(str(request["parent"]), str(request["children"])) for request in hooks.sent("c")]

    assert story(1) == story(1) != story(2)
