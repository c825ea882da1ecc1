"""Laws of runs that are disturbed: faults that pass change no verdict, and a deleted run leaves nothing behind."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.entry import Object
from cli.simulator.faults import Faults
from tests.properties.drawing import breaks, clocks, moments, plays, propagations, restarting, transient
from tests.properties.laws import Laws, check_end, check_gone, check_traffic, verdict
from tests.properties.plays import Action, Performance, Play

SHARE = 10 if os.environ.get("CI") else 1
LOSE_PODS = ("Failed", "Evicted")


def with_readable_checkpoints(play: Play) -> Play:
    """Leave out where nobody can tell in the end whether there is a checkpoint to restart from.

    JobSet deletes the other pods when one fails, and a log goes with its pod. So the pod that prints the checkpoints,
    the first, is the one that fails: else only those are known that were read before, and faults decide which. And a
    stall is proved by reading alone, so timeoutPerJob is no closer to it than an outage is long.
    """
    if not play.restarts:
        return play
    rules = tuple(replace(rule, nodes=frozenset()) if rule.outcome in LOSE_PODS else rule for rule in play.rules)
    return replace(play, rules=rules, timeout="40m" if play.stall else play.timeout)


@settings(max_examples=15 * SHARE)
@given(st.one_of(plays, restarting).map(with_readable_checkpoints), transient, st.lists(breaks, max_size=2), clocks)
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


# A run of two groups in two iterations, each an object of every kind that Metacontroller watches for us.
SMALL = Play(inventory="aws/h100x2", size=1, iterations=2)
STEPS = range(1, 290, 3 if os.environ.get("CI") else 9)


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_killed_at_any_step_that_comes_back_with_older_caches_changes_no_verdict(step: int) -> None:
    faults = Faults(seed=step, crash_at=frozenset({step}), relapse=2)
    laws = Laws()
    killed = Performance(replace(SMALL, faults=faults), laws.watch).run()
    assert killed.simulation.metacontroller.restarts == 1
    check_end(killed, laws)
    assert verdict(killed) == undisturbed(SMALL)


@settings(max_examples=10 * SHARE)
@given(plays, transient, moments, propagations)
def test_nothing_is_left_of_a_deleted_run(play: Play, faults: Faults, at: float, propagation: str) -> None:
    deleted = Action(at + 1, "delete", "WorkloadRun", option=propagation)
    laws = Laws()
    performance = Performance(replace(play, actions=(deleted,), faults=faults), laws.watch).run()
    check_gone(performance)
