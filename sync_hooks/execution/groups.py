"""Where each group of the current iteration stands, told by its Jobs and by what the status remembers of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

import msgspec

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find, is_true
from sync_hooks.api.names import job_key
from sync_hooks.api.request import JobChild
from sync_hooks.api.results import Progress
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.blame import CREATION_ERROR, STALLED, WORKLOAD_FAILED
from sync_hooks.execution.ranges import read_ranges, write_ranges
from sync_hooks.planning.plan import Plan
from sync_hooks.report.nodes import GONE

BAD = frozenset({FAILED, HARDWARE_FAILED, VALIDATION_FAILED})
RETRIED = frozenset({WORKLOAD_FAILED, STALLED, CREATION_ERROR})  # not time-outs, lost nodes, or what somebody deleted

LAUNCHING_STOPPED = "launching stopped"  # begins the text of groups that are not run because Jobs cannot be made


class GroupState(msgspec.Struct, frozen=True, gc=False):
    """One group: its newest Job and what is known of it.

    ``seen`` is the highest retry whose Job has ever been observed, -1 when none has; ``job`` is the newest Job that is
    observed now. A Job that was seen and is not observed is ``missing`` until a live read tells that it is ``lost``.
    ``refused`` says why the next Job cannot be made; ``earlier`` are the Jobs of the tries before ``job``, in order.

    A struct, because a Workflow of 2,500 groups makes as many of them at every change of one.
    """

    number: int
    seen: int = -1
    retry: int = 0
    job: JobChild | None = None
    lost: bool = False
    refused: str = ""
    earlier: tuple[JobChild, ...] = ()

    @property
    def missing(self) -> bool:
        """A Job that was seen is not there now."""
        return not self.lost and self.seen >= 0 and (self.job is None or self.retry < self.seen)

    @property
    def ended(self) -> bool:
        """The newest Job has its final verdict and its nodes are free, or it is gone for good, or can never be."""
        if self.lost or (self.job is None and self.refused):
            return True
        return self.job is not None and self.job.status.drained and self.job.status.settled and not self.missing

    @property
    def failed(self) -> bool:
        """The newest Job failed, violated its requirements, was deleted or could not be made."""
        if self.lost or self.job is None:
            return self.lost or bool(self.refused)
        return any([item.status == "True" and item.type in BAD for item in self.job.status.conditions])  # noqa: C419 - three

    @property
    def occupies(self) -> bool:
        """The group's nodes are in use, or may be."""
        return (self.job is not None or self.missing) and not self.ended

    def retries_left(self, plan: Plan) -> bool:
        """Tell whether a failed group is to be tried again: not after a time-out, a node's failure or its deletion."""
        if self.retry >= plan.retry_failed_groups or self.job is None or self.lost or self.refused:
            return False
        conditions = self.job.status.conditions
        failure = find(conditions, FAILED)
        failed = failure is not None and failure.status == "True" and failure.reason in RETRIED
        going = any(node.reason in GONE for node in self.job.status.failed_nodes)
        return failed and self.ended and not going and not is_true(conditions, HARDWARE_FAILED)


def group_states(
    plan: Plan, iteration: int, jobs: Mapping[str, JobChild], status: WorkflowStatus
) -> tuple[GroupState, ...]:
    """Return the state of every group, in the plan's order; linear in groups and Jobs."""
    tries: dict[int, list[tuple[int, JobChild]]] = {}
    for name, job in jobs.items():
        key = job_key(name)
        if key and key.iteration == iteration:
            tries.setdefault(key.group, []).append((key.retry, job))
    launched, lost = read_ranges(status.launched), read_ranges(status.lost)
    retries = status.retries or {}
    refused = {number: text for key, text in (status.refused or {}).items() for number in read_ranges(key)}
    states = []
    for number in range(len(plan.groups)):
        seen = retries.get(str(number), 0) if number in launched or str(number) in retries else -1
        known = tries.get(number, [])
        if len(known) > 1:
            known.sort(key=itemgetter(0))
        retry, newest = known[-1] if known else (max(seen, 0), None)
        earlier = tuple([job for _, job in known[:-1]])
        states.append(GroupState(number, seen, retry, newest, number in lost, refused.get(number, ""), earlier))
    return tuple(states)


def with_lost(states: Sequence[GroupState], lost: Iterable[int]) -> tuple[GroupState, ...]:
    """Mark groups whose Job is gone for good."""
    gone = frozenset(lost)
    if not gone:
        return tuple(states)
    return tuple(msgspec.structs.replace(state, lost=True) if state.number in gone else state for state in states)


def remember(status: WorkflowStatus, states: Sequence[GroupState]) -> WorkflowStatus:
    """Write down what has been seen: it only ever grows within an iteration."""
    launched = {state.number for state in states if state.job or state.seen >= 0}
    retries = {str(state.number): max(state.retry, state.seen) for state in states if max(state.retry, state.seen) > 0}
    lost = {state.number for state in states if state.lost}
    update = {
        "launched": write_ranges(launched) or None,
        "retries": retries or None,
        "lost": write_ranges(lost) or None,
    }
    return status.model_copy(update=update)


def done(state: GroupState, plan: Plan) -> bool:
    """Tell whether nothing more will happen to the group in this iteration."""
    return state.ended and not state.retries_left(plan)


def to_launch(plan: Plan, states: Sequence[GroupState], most: int) -> tuple[tuple[int, int], ...]:
    """Choose (group, retry) pairs to launch now: in plan order, within maxConcurrent, never on nodes in use."""
    waiting = [state for state in states if wants_job(state, plan)]
    if not waiting:
        return ()
    occupying = [state for state in states if state.occupies]
    busy = {node for state in occupying for node in plan.groups[state.number].nodes}
    slots = most if plan.max_concurrent == 0 else min(most, plan.max_concurrent - len(occupying))
    chosen: list[tuple[int, int]] = []
    for state in waiting:
        nodes = plan.groups[state.number].nodes
        if len(chosen) < slots and busy.isdisjoint(nodes):
            busy.update(nodes)
            chosen.append((state.number, state.retry + 1 if state.job else 0))
    return tuple(chosen)


def wants_job(state: GroupState, plan: Plan) -> bool:
    """Tell whether the group is to run and has no Job for it yet."""
    never = state.job is None and state.seen < 0 and not state.lost and not state.refused
    return never or state.retries_left(plan)


def progress(plan: Plan, iteration: int, states: Iterable[GroupState]) -> Progress:
    """Count the groups by state."""
    counts = {"pending": 0, "running": 0, "succeeded": 0, "failed": 0}
    for state in states:
        counts[_bucket(state, plan)] += 1
    return Progress(iteration=iteration, iterations=plan.iterations, groups=len(plan.groups), **counts)


def is_over(counted: Progress) -> bool:
    """Tell from the counts whether every group is done: asking each of 2,500 again would take as long as counting."""
    return not counted.pending and not counted.running


def _bucket(state: GroupState, plan: Plan) -> str:
    if done(state, plan):
        return "failed" if state.failed else "succeeded"
    started = state.job is not None and state.job.status.workload_phase not in ("", "Pending")
    return "running" if started and not state.retries_left(plan) else "pending"
