"""Laws of runs that are disturbed: faults that pass change no verdict, and a deleted run leaves nothing behind."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache, lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.entry import Change, Object
from cli.simulator.faults import Faults
from cli.simulator.scenario import Rule
from sync_hooks.api.duration import parse_duration
from tests.properties.drawing import NODES, breaks, clocks, moments, plays, propagations, restarting, transient
from tests.properties.drops import check_drops, is_true
from tests.properties.fates import check_fates, gave_up_making, gave_up_measuring, is_certain, is_cut_short
from tests.properties.laws import Laws, check_end, check_gone, check_traffic, verdict
from tests.properties.plays import HORIZON, RUN, Action, Performance, Play

SHARE = 10 if os.environ.get("CI") else 1


@settings(max_examples=20 * SHARE)
@given(st.one_of(plays, restarting), transient, st.lists(breaks, max_size=3), clocks)
def test_faults_that_pass_change_no_verdict(
    play: Play, faults: Faults, outages: list[Action], steps: tuple[tuple[float, float], ...]
) -> None:
    laws = Laws()
    harder = replace(play, faults=faults, actions=tuple(outages), clock_steps=steps)
    disturbed = Performance(harder, laws.watch, check_drops).run(longest(harder))
    check_end(disturbed, laws)
    check_fates(disturbed, laws)
    ahead = sum(max(off, 0.0) for _, off in steps)
    gave_up = gave_up_measuring(disturbed) or gave_up_making(disturbed)
    if is_certain(harder) and not is_cut_short(play, ahead) and not gave_up:
        assert verdict(disturbed) == undisturbed(play)


def longest(play: Play) -> float:
    """Return by which virtual second it has ended even if its Jobs hang one after the other.

    A clock that is behind the nodes' sees every time limit later by as much.
    """
    steps = sorted(play.clock_steps)
    behind = max(-sum(off for _, off in steps[:count]) for count in range(len(steps) + 1))
    jobs = len(NODES) * play.iterations * (1 + play.retries) * (1 + (play.restarts or 0))
    return HORIZON + jobs * (behind + (parse_duration(play.timeout) or 0.0))


@lru_cache(maxsize=512)
def undisturbed(play: Play) -> Object:
    laws = Laws()
    performance = Performance(play, laws.watch, check_drops).run(longest(play))
    check_end(performance, laws)
    check_traffic(performance, laws)
    check_fates(performance, laws)
    return verdict(performance)


# A run of two groups in two iterations, each an object of every kind that Metacontroller watches for us.
SMALL = Play(inventory="aws/h100x2", size=1, iterations=2)
HUNDREDTHS = range(0, 100, 1 if os.environ.get("CI") else 3)


def test_a_clock_that_is_behind_delays_every_time_limit_and_the_run_still_ends() -> None:
    play = Play(
        inventory="aws/h100x5",
        size=1,
        iterations=2,
        concurrent=1,
        rules=(Rule(outcome="Hang"),),
        clock_steps=((0.0, -1800.0),),
    )
    laws = Laws()
    performance = Performance(play, laws.watch, check_drops).run(longest(play))
    check_end(performance, laws)
    assert verdict(performance)["verdict"] == "Failed"


@cache
def steps_of_the_driver() -> int:
    """Return how many steps the driver takes for the small run when nothing goes wrong."""
    return Performance(SMALL).run().simulation.dice.steps


@pytest.mark.parametrize("hundredths", HUNDREDTHS)
def test_a_driver_killed_at_any_step_that_comes_back_with_older_caches_changes_no_verdict(hundredths: int) -> None:
    step = 1 + hundredths * steps_of_the_driver() // 100
    faults = Faults(seed=step, crash_at=frozenset({step}), relapse=2)
    laws = Laws()
    killed = Performance(replace(SMALL, faults=faults), laws.watch, check_drops).run()
    assert killed.simulation.metacontroller.restarts == 1
    check_end(killed, laws)
    assert verdict(killed) == undisturbed(SMALL)


# One group ends after a minute, the other does not end before the plan is destroyed, half a second later.
HALFWAY = Play(
    inventory="aws/h100x2",
    size=1,
    rules=(Rule(nodes=frozenset({"gpu-0001"}), after=600.0),),
    actions=(Action(63.5, "delete", "ConfigMap", index=-1),),
)


@cache
def step_of_the_failure() -> int:
    """Return at which step of the driver the API has the failure of the run, when nothing else goes wrong."""
    found: list[int] = []

    def note(performance: Performance, change: Change) -> None:
        if change.entry.kind.kind == "Workflow" and is_true(change.entry.obj.get("status") or {}, "Failed"):
            found.append(performance.simulation.dice.steps)

    Performance(HALFWAY, note).run()
    return found[0]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("later", range(5))
def test_a_run_that_fails_halfway_drops_no_job_whose_end_the_caches_have_forgotten(later: int, seed: int) -> None:
    faults = Faults(seed=seed, crash_at=frozenset({step_of_the_failure() + later}), relapse=12)
    laws = Laws()
    performance = Performance(replace(HALFWAY, faults=faults), laws.watch, check_drops).run()
    check_end(performance, laws)
    assert performance.find("Job", f"{RUN}-g0-i1") is not None
    assert performance.find("Job", f"{RUN}-g1-i1") is None


@settings(max_examples=10 * SHARE)
@given(plays, transient, moments, propagations)
def test_nothing_is_left_of_a_deleted_run(play: Play, faults: Faults, at: float, propagation: str) -> None:
    deleted = Action(at + 1, "delete", "WorkloadRun", option=propagation)
    laws = Laws()
    performance = Performance(replace(play, actions=(deleted,), faults=faults), laws.watch, check_drops).run()
    check_gone(performance)
