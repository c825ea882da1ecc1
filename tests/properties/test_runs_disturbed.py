"""Laws of runs that are disturbed: faults that pass change no verdict, and a deleted run leaves nothing behind."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.entry import Object
from cli.simulator.faults import Faults
from tests.properties.drawing import breaks, clocks, moments, plays, propagations, transient
from tests.properties.laws import Laws, check_end, check_gone, check_traffic, verdict
from tests.properties.plays import Action, Performance, Play

SHARE = 10 if os.environ.get("CI") else 1


def without_restarts(play: Play) -> Play:
    """Leave out restarts: whether an attempt is followed by another depends on its log being read in bounded time."""
    return replace(play, restarts=None)


@settings(max_examples=15 * SHARE)
@given(plays.map(without_restarts), transient, st.lists(breaks, max_size=2), clocks)
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
    deleted = Action(at + 1, "delete", "WorkloadRun", option=propagation)
    laws = Laws()
    performance = Performance(replace(play, actions=(deleted,), faults=faults), laws.watch).run()
    check_gone(performance)
