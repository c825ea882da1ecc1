"""Plays as hypothesis draws them: small clusters, short runs, everything that may happen to them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from cli.simulator.director import BREAKS_OFF
from cli.simulator.faults import Faults
from cli.simulator.scenario import Rule
from tests.properties.fates import LOSE_PODS
from tests.properties.plays import BREAKS, RUN, Action, Play, training_log

NODES = tuple(f"gpu-{index:04d}" for index in range(5))

moments = st.integers(0, 150).map(float)  # most runs end soon after
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
    relapse=st.sampled_from((0, 5, 40)),
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
    inventory=st.sampled_from(
        ("aws/h100x3", "aws/h100x1", "togetherai/h100x2", "oci/gb200x3", "aws/h100x4", "aws/h100x5")
    ),
    framework=st.sampled_from(("exec", "torch", "mpi")),
    size=st.integers(1, 3),
    iterations=st.sampled_from((1, 1, 2)),
    concurrent=st.integers(0, 4),
    retries=st.integers(0, 1),
    bandwidth=st.booleans(),
    threshold=st.sampled_from((None, "value > 0.01", "value > 1000.0")),
    rules=st.lists(rules, max_size=3).map(tuple),
)


def trained(play: Play, restarts: int | None, stall: int | None) -> Play:
    """Make it a run that trains, with checkpoints where there are restarts."""
    log = training_log(saved=30) if restarts else None
    rules = tuple(replace(rule, log=log) for rule in play.rules)
    return replace(play, framework="torch", bandwidth=False, goodput=True, restarts=restarts, stall=stall, rules=rules)


def restarted(play: Play, restarts: int, stall: int | None, ending: Rule) -> Play:
    """Make it a run that trains, whose first attempt saves a checkpoint and comes to this end."""
    play = replace(play, rules=(replace(ending, nodes=frozenset(), iteration=None, attempt=0), *play.rules))
    return trained(play, restarts, stall)


def measured(play: Play) -> Play:
    """Leave thresholds out where nothing is measured: such a run is refused."""
    return play if play.bandwidth or play.goodput else replace(play, threshold=None)


training = st.builds(trained, plain, st.none() | st.integers(0, 2), st.none() | st.just(3))
plays = st.one_of(plain, plain, training).map(measured)


def readable(play: Play) -> Play:
    """Let the pod that prints the checkpoints be the one that fails, and be no end of the time near."""
    rules = tuple(replace(rule, nodes=frozenset()) if rule.outcome in LOSE_PODS else rule for rule in play.rules)
    return replace(play, rules=rules, timeout="40m" if play.stall else play.timeout)


def lasting(play: Play, restarts: int, stall: int | None, ending: Rule) -> Play:
    """Make it a run whose first attempt comes to its end on named nodes, long after its checkpoint."""
    others = readable(trained(play, restarts, stall))
    log = training_log(saved=30, every=1, step_seconds=(ending.after or 0.0) / 100)
    ending = replace(ending, iteration=None, attempt=0, log=log)
    return replace(others, rules=(ending, *others.rules), iterations=1, retries=0, timeout="40m")


stalls = st.none() | st.just(3)
broken_off = rules.filter(lambda rule: rule.outcome in BREAKS_OFF)
late = st.builds(
    Rule,
    outcome=st.sampled_from(LOSE_PODS),
    nodes=st.frozensets(st.sampled_from(NODES), min_size=1, max_size=2),
    after=st.sampled_from((900.0, 1200.0)),
    exit_code=st.sampled_from((1, 137)),
)
anyhow = st.builds(restarted, plain, st.integers(1, 2), stalls, broken_off).map(measured)
restarting = st.one_of(
    anyhow, anyhow.map(readable), st.builds(lasting, plain, st.integers(1, 2), stalls, late).map(measured)
)
"""Runs that go on from a checkpoint, as `trained` runs do by chance: as they come, and so that it must be found."""

kinds = st.sampled_from((
    "Job", "TrainJob", "Job", "TrainJob", "JobSet", "Pod", "Workflow", "ConfigMap", "TrainingRuntime",
    "BandwidthMeasurement", "GoodputMeasurement", "PersistentVolumeClaim",
))  # fmt: skip
propagations = st.sampled_from(("Background", "Foreground"))
wanted_names = st.sampled_from((
    ("Workflow", RUN), ("Job", f"{RUN}-g0-i1"), ("Job", f"{RUN}-g0-i1-t1"), ("Job", f"{RUN}-g1-i2"),
    ("TrainJob", f"{RUN}-g0-i1-w0"), ("TrainJob", f"{RUN}-g0-i1-w1"), ("JobSet", f"{RUN}-g0-i1-w0"),
    ("ConfigMap", f"{RUN}-plan"), ("ConfigMap", f"{RUN}-iteration-1"), ("TrainingRuntime", f"{RUN}-runtime"),
    ("BandwidthMeasurement", f"{RUN}-g0-i1-bandwidth"), ("GoodputMeasurement", f"{RUN}-g1-i1-goodput"),
))  # fmt: skip
to_nodes = st.sampled_from(("cordon", "uncordon", "lose node", "find node", "relabel node", "other GPU", "delete node"))

neighbours = st.lists(st.integers(0, 150).map(float), min_size=1, max_size=2).map(tuple)
"""When other runs over the same nodes are applied."""

breaks = st.builds(
    Action, moments, st.just("break"), index=st.sampled_from((0, 0, 1)), option=st.sampled_from(sorted(BREAKS))
)
"""Outages of one minute or two; they may overlap, or follow each other."""
deletions = st.builds(Action, moments, st.just("delete"), kinds, indexes, propagations)
to_node = st.builds(Action, moments, to_nodes, index=indexes)
ways_to_end = st.sampled_from(("evict", "evict by API", "exit"))
to_pod = st.builds(Action, moments, st.just("fail pod"), index=indexes, option=ways_to_end)
to_nodes_and_pods = st.one_of(to_node, to_pod)
interferences = st.one_of(
    deletions,
    to_node,
    to_pod,
    deletions,
    st.builds(Action, moments, st.just("touch"), kinds, indexes),
    st.builds(Action, moments, st.just("suspend"), index=indexes, option=st.sampled_from(("suspend", "resume"))),
    st.builds(lambda at, wanted: Action(at, "intrude", wanted[0], option=wanted[1]), moments, wanted_names),
    breaks,
)
clocks = st.lists(st.tuples(moments, st.sampled_from((-1800.0, -90.0, -1.0, 60.0))), max_size=2).map(tuple)
