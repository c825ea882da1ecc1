"""Laws of whole runs: whatever happens to nodes, pods, objects, hooks and clocks, the verdict is whole and final."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.simulator.faults import Faults
from tests.properties.drawing import clocks, interferences, neighbours, plays, to_nodes_and_pods, transient
from tests.properties.drops import check_drops
from tests.properties.laws import Laws, check_end, check_replay, check_rest, ended
from tests.properties.plays import Action, Performance, Play

# Of a thousand in CI; the others are in test_runs_disturbed.py.
RUNS = 400 if os.environ.get("CI") else 50
TOGETHER = 100 if os.environ.get("CI") else 10


@settings(max_examples=RUNS)
@given(plays, st.lists(interferences, max_size=4), transient, clocks, st.booleans())
def test_every_run_ends_with_a_whole_verdict_whatever_happens(
    play: Play, actions: list[Action], faults: Faults, steps: tuple[tuple[float, float], ...], unpinned: bool
) -> None:
    play = replace(play, actions=tuple(actions), faults=faults, clock_steps=steps, unpinned=unpinned)
    laws = Laws()
    performance = Performance(play, laws.watch, check_drops).run()
    check_end(performance, laws)
    check_rest(performance)
    if ended(performance):
        check_replay(performance)


@settings(max_examples=TOGETHER)
@given(plays, neighbours, st.lists(to_nodes_and_pods, max_size=3), transient, st.booleans())
def test_runs_that_share_nodes_take_turns_and_each_ends_or_says_what_it_waits_for(
    play: Play, others: tuple[float, ...], actions: list[Action], faults: Faults, unpinned: bool
) -> None:
    play = replace(play, neighbours=others, actions=tuple(actions), faults=faults, unpinned=unpinned)
    laws = Laws()
    performance = Performance(play, laws.watch, check_drops).run()
    check_end(performance, laws)
    check_rest(performance)
