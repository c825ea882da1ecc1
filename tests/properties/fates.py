"""What may become of groups and nodes by their scenario alone: a law where faults decide which of several ends comes.

JobSet deletes the other pods when one fails, and a log goes with its pod: whether its checkpoint is known, so that
another attempt follows, depends on who read it when. Each of the ends is right then, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cli.simulator.director import BREAKS_OFF
from cli.simulator.entry import Object
from cli.simulator.faults import Faults
from cli.simulator.scenario import Rule, Scenario
from sync_hooks.api.duration import parse_duration
from sync_hooks.planning.plan import Group, Plan
from tests.properties.laws import Laws, ended, lists
from tests.properties.plays import RUN, Performance, Play

SAVED = "saved checkpoint"
LATE_SECONDS = 5.0  # from the end of a workload until its TrainJob says so
READ_IN_TIME_SECONDS = 720.0  # three outages of two minutes in a row, what the driver waits after them, and a sample
LOSE_PODS = ("Failed", "Evicted")


@dataclass(frozen=True)
class Fate:
    """How a group may end in an iteration: whether it may pass, and the rules that may be its end."""

    passes: bool
    ends: tuple[Rule, ...]

    def blames(self, group: Group, node: str) -> bool:
        """Tell whether one of the ends may be held against a node."""
        return any(node in (rule.nodes.intersection(group.nodes) or group.nodes) for rule in map(_blaming, self.ends))


def _blaming(rule: Rule) -> Rule:
    """A workload that hangs is the whole group's, whoever it was drawn for."""
    return Rule() if rule.outcome == "Hang" else rule


def fate(play: Play, nodes: tuple[str, ...], iteration: int) -> Fate:
    """Follow the attempts of a group: each that breaks off is the end, or is followed by another where it saved."""
    scenario, ends = Scenario(play.rules), list[Rule]()
    for attempt in range((play.restarts or 0) + 1):
        rule = scenario.rule(nodes, iteration, attempt)
        if rule.outcome not in BREAKS_OFF:
            return Fate(passes=True, ends=tuple(ends))
        ends.append(replace(rule, nodes=frozenset()) if _is_hidden(play, rule) else rule)
        if not _saves(rule) or (rule.outcome == "Hang" and not play.stall):
            break  # what has timed out is not restarted
    return Fate(passes=False, ends=tuple(ends))


def _saves(rule: Rule) -> bool:
    return any(SAVED in line for line in rule.log or ())


def _is_hidden(play: Play, rule: Rule) -> bool:
    """Tell whether a workload may end before anybody has looked, so that nobody knows where its workers were.

    mpirun names a worker that has failed by its number, and JobSet removes the workers. A pod that is evicted is a
    worker, one that fails where no nodes are named is the launcher.
    """
    disturbed = play.faults != Faults() or bool(play.actions)
    late = disturbed and (rule.after or 0.0) < READ_IN_TIME_SECONDS
    worker = rule.outcome == "Evicted" or (rule.outcome == "Failed" and bool(rule.nodes))
    return play.framework == "mpi" and worker and late


def is_certain(play: Play) -> bool:
    """Tell whether faults that pass cannot decide how a run ends."""
    hidden = play.size > 1 and any(_is_hidden(play, rule) for rule in play.rules)
    return not hidden and (not play.restarts or all(_is_certain(play, rule) for rule in play.rules))


def _is_certain(play: Play, rule: Rule) -> bool:
    """Tell whether it is known in the end whether there is a checkpoint, and that a stall is one.

    The first pod prints them, and is the one that fails where no nodes are named. A stall is proved by reading alone,
    so that timeoutPerJob must not be as close to it as an outage is long.
    """
    if rule.outcome in LOSE_PODS:
        unread = (rule.after or 0.0) * _printed_after_saving(rule)
        return not rule.nodes or play.size == 1 or not _saves(rule) or unread >= READ_IN_TIME_SECONDS
    return rule.outcome != "Hang" or not play.stall or play.timeout == "40m"


def is_cut_short(play: Play, ahead: float) -> bool:
    """Tell whether a clock that is so many seconds ahead of the nodes' may end a workload before its own end."""
    limit = parse_duration(play.timeout) or 0.0
    return ahead > 0 and any((rule.after or 0.0) + ahead + LATE_SECONDS >= limit for rule in play.rules)


def gave_up_measuring(performance: Performance) -> bool:
    """Tell whether a measurement came to its end too late: after errors in a row Metacontroller backs off for minutes.

    That the run is then Incomplete and says so is checked here, because nothing else is.
    """
    reasons = performance.status().get("verdictReasons", ())
    late = any("not measured within" in reason for reason in reasons)
    if late:
        assert performance.play.bandwidth or performance.play.goodput
        assert performance.status()["verdict"] != "Passed"
    return late


def gave_up_making(performance: Performance) -> bool:
    """Tell whether a Job ended because what it needs could not be made: each answer that is lost costs a minute.

    That the run says so is checked here, because nothing else is.
    """
    statuses = [entry.obj.get("status") or {} for entry in performance.objects("Job")]
    reasons = [
        item["reason"] for status in statuses for item in status.get("conditions", ()) if item["type"] == "Failed"
    ]
    late = "WorkloadCreationError" in reasons
    if late:
        faults = performance.play.faults
        assert faults.answer_lost + faults.hook_error + faults.write_error >= 0.3, "nothing kept it from being made"
        assert performance.status()["verdict"] != "Passed"
    return late


def _printed_after_saving(rule: Rule) -> float:
    """Return the part of its time that a workload still runs after its checkpoint."""
    lines = rule.log or ("",)
    index = next((index for index, line in enumerate(lines) if SAVED in line), len(lines) - 1)
    return 1 - (index + 1) / len(lines)


def check_fates(performance: Performance, laws: Laws) -> None:
    """Check that nobody is blamed, and nobody praised, for what no rule says: of a run that nothing else disturbed."""
    workflow, plan = performance.find("Workflow", RUN), laws.plans.get(RUN)
    if workflow is None or plan is None or not ended(performance):
        return
    play, groups = performance.play, dict(enumerate(plan.groups))
    fates = {(number, turn + 1): fate(play, group.nodes, turn + 1)
             for turn in range(play.iterations) for number, group in groups.items()}  # fmt: skip
    good, bad = lists(performance, workflow["metadata"]["uid"])
    for node in good:
        at_home = [found for (number, _), found in fates.items() if node in _home(groups[number])]
        assert any(found.passes for found in at_home), f"{node} cannot have passed"
    for item in bad:
        assert _may_be_bad(play, plan, fates, item), f"{item['name']} is blamed for what it has not done: {item}"
    if gave_up_making(performance):
        return
    if play.threshold is None:
        _check_the_innocent(plan, fates, good)
    _check_verdict(performance, fates)


def _home(group: Group) -> set[str]:
    return set(group.nodes) - set(group.lent)


def _may_be_bad(play: Play, plan: Plan, fates: Mapping[tuple[int, int], Fate], item: Object) -> bool:
    name, violated = item["name"], play.threshold is not None and item["reason"] == "ThresholdViolation"
    return any(
        found.blames(plan.groups[number], name) or (violated and found.passes and name in _home(plan.groups[number]))
        for (number, _), found in fates.items()
    )


def _check_the_innocent(plan: Plan, fates: Mapping[tuple[int, int], Fate], good: list[str]) -> None:
    """Nodes that no rule keeps from passing have passed."""
    for number, group in enumerate(plan.groups):
        sure = all(not found.ends for (of, _), found in fates.items() if of == number)
        for node in _home(group) if sure else ():
            elsewhere = [found for (of, _), found in fates.items() if node in plan.groups[of].lent]
            assert node in good or any(found.ends for found in elsewhere), f"{node} has passed and is not in the list"


def _check_verdict(performance: Performance, fates: Mapping[tuple[int, int], Fate]) -> None:
    verdict, play = performance.status()["verdict"], performance.play
    if not all(found.passes for found in fates.values()):
        assert verdict == "Failed", f"{verdict} although a group cannot pass"
    if play.threshold is None and not any(found.ends for found in fates.values()):
        assert verdict != "Failed", "nothing that a rule says fails this run"
