"""Laws of whole runs: whatever happens to nodes, pods, objects, hooks and clocks, the verdict is whole and final."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.entry import Object
from cli.simulator.faults import Faults
from cli.simulator.scenario import Rule
from tests.properties.laws import Laws, check_end, check_gone, check_replay, check_rest, check_traffic, ended, verdict
from tests.properties.plays import BREAKS, RUN, Action, Performance, Play

SHARE = 10 if os.environ.get("CI") else 1  # of the runs in CI: 1,000 in all
NODES = tuple(f"gpu-{index:04d}" for index in range(4))

moments = st.integers(0, 400).map(float)
indexes = st.integers(0, 7)


def odds(*values: float) -> st.SearchStrategy[float]:
    return st.sampled_from((0.0, *values))


transient = st.builds(
    Faults,
    seed=st.integers(0, 1 << 16),
    stale_events=st.sampled_from((0, 3, 20)),
    reorder=st.booleans(),
    repeat=odds(0.3),
    hook_error=odds(0.1, 0.4),
    answer_lost=odds(0.1, 0.3),
    write_error=odds(0.1, 0.3),
    write_lost=odds(0.1, 0.3),
    crash=odds(0.02),
    crash_at=st.frozensets(st.integers(1, 300), max_size=3),
)
"""Hooks killed before and after their work, answers and writes lost, syncs that are stale, repeated and reordered."""

outcomes = st.sampled_from(("Failed", "Evicted", "Hang", "Succeeded", "Unschedulable", "Suspended"))
rules = st.builds(
    Rule,
    outcome=outcomes,
    nodes=st.frozensets(st.sampled_from(NODES), max_size=2),
    iteration=st.none() | st.integers(1, 2),
    attempt=st.none() | st.integers(0, 1),
    after=st.integers(1, 300).map(float),
    exit_code=st.sampled_from((1, 137)),
)
plain = st.builds(
    Play,
    inventory=st.sampled_from(("aws/h100x4", "aws/h100x3", "aws/h100x1", "togetherai/h100x2", "oci/gb200x3")),
    framework=st.sampled_from(("exec", "torch", "mpi")),
    size=st.integers(1, 3),
    iterations=st.integers(1, 2),
    concurrent=st.integers(0, 2),
    retries=st.integers(0, 2),
    bandwidth=st.booleans(),
    threshold=st.sampled_from((None, "value > 0.01", "value > 1000.0")),
    rules=st.lists(rules, max_size=3).map(tuple),
)


def trained(play: Play, restarts: int | None, stall: int | None) -> Play:
    """Make it a run that trains, with checkpoints where there are restarts."""
    return replace(play, framework="torch", bandwidth=False, goodput=True, restarts=restarts, stall=stall)


def measured(play: Play) -> Play:
    """Leave thresholds out where nothing is measured: such a run is refused."""
    return play if play.bandwidth or play.goodput else replace(play, threshold=None)


training = st.builds(trained, plain, st.none() | st.integers(0, 2), st.none() | st.just(3))
plays = st.one_of(plain, plain, training).map(measured)

kinds = st.sampled_from(("Workflow", "Job", "TrainJob", "JobSet", "Pod", "ConfigMap", "TrainingRuntime",
                         "BandwidthMeasurement", "GoodputMeasurement", "PersistentVolumeClaim"))  # fmt: skip
propagations = st.sampled_from(("Background", "Foreground"))
wanted_names = st.sampled_from((
    ("Workflow", RUN), ("Job", f"{RUN}-g0-i1"), ("Job", f"{RUN}-g0-i1-t1"), ("Job", f"{RUN}-g1-i2"),
    ("TrainJob", f"{RUN}-g0-i1-w0"), ("TrainJob", f"{RUN}-g0-i1-w1"), ("JobSet", f"{RUN}-g0-i1-w0"),
    ("ConfigMap", f"{RUN}-plan"), ("ConfigMap", f"{RUN}-iteration-1"), ("TrainingRuntime", f"{RUN}-runtime"),
    ("BandwidthMeasurement", f"{RUN}-g0-i1-bandwidth"), ("GoodputMeasurement", f"{RUN}-g1-i1-goodput"),
))  # fmt: skip
to_nodes = st.sampled_from(("cordon", "uncordon", "lose node", "find node", "relabel node", "other GPU", "delete node"))

breaks = st.builds(Action, moments, st.just("break"), option=st.sampled_from(sorted(BREAKS)))
interferences = st.one_of(
    st.builds(Action, moments, to_nodes, index=indexes),
    st.builds(Action, moments, st.just("fail pod"), index=indexes, option=st.sampled_from(("evict", "exit"))),
    st.builds(Action, moments, st.just("delete"), kinds, indexes, propagations),
    st.builds(Action, moments, st.just("touch"), kinds, indexes),
    st.builds(Action, moments, st.just("suspend"), index=indexes, option=st.sampled_from(("suspend", "resume"))),
    st.builds(lambda at, wanted: Action(at, "intrude", wanted[0], option=wanted[1]), moments, wanted_names),
    breaks,
)
clocks = st.lists(st.tuples(moments, st.sampled_from((-3600.0, -90.0, -1.0, 60.0))), max_size=2).map(tuple)


@settings(max_examples=70 * SHARE)
@given(plays, st.lists(interferences, max_size=4), transient, clocks, st.booleans())
def test_every_run_ends_with_a_whole_verdict_whatever_happens(
    play: Play, actions: list[Action], faults: Faults, steps: tuple[tuple[float, float], ...], unpinned: bool
) -> None:
    play = replace(play, actions=tuple(actions), faults=faults, clock_steps=steps, unpinned=unpinned)
    laws = Laws()
    performance = Performance(play, laws.watch).run()
    check_end(performance, laws)
    check_rest(performance)
    if ended(performance):
        check_replay(performance)


@settings(max_examples=20 * SHARE)
@given(plays, transient, st.lists(breaks, max_size=2), clocks)
def test_faults_that_pass_change_no_verdict(
    play: Play, faults: Faults, outages: list[Action], steps: tuple[tuple[float, float], ...]
) -> None:
    laws = Laws()
    disturbed = Performance(replace(play, faults=faults, actions=tuple(outages), clock_steps=steps), laws.watch).run()
    check_end(disturbed, laws)
    assert verdict(disturbed) == undisturbed(play)


@lru_cache(maxsize=512)
def undisturbed(play: Play) -> Object:
    laws = Laws()
    performance = Performance(play, laws.watch).run()
    check_end(performance, laws)
    check_traffic(performance, laws)
    return verdict(performance)


@settings(max_examples=10 * SHARE)
@given(plays, transient, moments, propagations)
def test_nothing_is_left_of_a_deleted_run(play: Play, faults: Faults, at: float, propagation: str) -> None:
    deleted = Action(at, "delete", "WorkloadRun", option=propagation)
    laws = Laws()
    performance = Performance(replace(play, actions=(deleted,), faults=faults), laws.watch).run()
    check_gone(performance)
