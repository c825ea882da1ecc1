"""Where each group of the current iteration stands, told by its Jobs and by what the status remembers of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find, is_true
from sync_hooks.api.names import job_key
from sync_hooks.api.request import JobChild
from sync_hooks.api.results import Progress
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.blame import TIMED_OUT
from sync_hooks.execution.ranges import read_ranges
from sync_hooks.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class GroupState:
    """One group: its newest Job and what is known of it.

    ``seen`` is the highest retry whose Job has ever been observed, -1 when none has; ``job`` is the newest Job that is
    observed now. A Job that was seen and is not observed is ``missing`` until a live read tells that it is ``lost``.
    """

    number: int
    seen: int = -1
    retry: int = 0
    job: JobChild | None = None
    lost: bool = False

    @property
    def missing(self) -> bool:
        """A Job that was seen is not there now."""
        return not self.lost and self.seen >= 0 and (self.job is None or self.retry < self.seen)

    @property
    def ended(self) -> bool:
        """The newest Job has its final verdict and its nodes are free, or it is gone for good."""
        return self.lost or (
            not self.missing and self.job is not None and self.job.status.settled and self.job.status.drained
        )

    @property
    def failed(self) -> bool:
        """The newest Job failed, violated its requirements, or was deleted."""
        return self.lost or (
            self.job is not None and is_true(self.job.status.conditions, FAILED, HARDWARE_FAILED, VALIDATION_FAILED)
        )

    @property
    def occupies(self) -> bool:
        """The group's nodes are in use, or may be."""
        return (self.job is not None or self.missing) and not self.ended

    def retries_left(self, plan: Plan) -> bool:
        """Tell whether a failed group is to be tried again: not after a time-out, a node's failure or its deletion."""
        if not (self.ended and self.failed) or self.lost or self.job is None or self.retry >= plan.retry_failed_groups:
            return False
        conditions = self.job.status.conditions
        failure = find(conditions, FAILED)
        workload_failed = failure is not None and failure.status == "True" and failure.reason != TIMED_OUT
        return workload_failed and not is_true(conditions, HARDWARE_FAILED)


def group_states(
    plan: Plan, iteration: int, jobs: Mapping[str, JobChild], status: WorkflowStatus
) -> tuple[GroupState, ...]:
    """Return the state of every group, in the plan's order; linear in groups and Jobs."""
    newest: dict[int, tuple[int, JobChild]] = {}
    for name, job in jobs.items():
        key = job_key(name)
        if key and key.iteration == iteration and (key.group not in newest or newest[key.group][0] < key.retry):
            newest[key.group] = (key.retry, job)
    launched, lost, retries = read_ranges(status.launched), read_ranges(status.lost), status.retries or {}
    return tuple(
        _state(number, newest.get(number), retries.get(str(number), 0 if number in launched else -1), number in lost)
        for number in range(len(plan.groups))
    )


def _state(number: int, newest: tuple[int, JobChild] | None, seen: int, lost: bool) -> GroupState:  # noqa: FBT001
    retry, job = newest if newest else (max(seen, 0), None)
    return GroupState(number, seen, retry, job, lost)


def done(state: GroupState, plan: Plan) -> bool:
    """Tell whether nothing more will happen to the group in this iteration."""
    return state.ended and not state.retries_left(plan)


def to_launch(plan: Plan, states: Sequence[GroupState], most: int) -> tuple[tuple[int, int], ...]:
    """Choose (group, retry) pairs to launch now: in plan order, within maxConcurrent, never on nodes in use."""
    waiting = [state for state in states if _wants_job(state, plan)]
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


def _wants_job(state: GroupState, plan: Plan) -> bool:
    return (state.job is None and state.seen < 0 and not state.lost) or state.retries_left(plan)


def progress(plan: Plan, iteration: int, states: Iterable[GroupState]) -> Progress:
    """Count the groups by state."""
    counts = {"pending": 0, "running": 0, "succeeded": 0, "failed": 0}
    for state in states:
        counts[_bucket(state, plan)] += 1
    return Progress(iteration=iteration, iterations=plan.iterations, groups=len(plan.groups), **counts)


def _bucket(state: GroupState, plan: Plan) -> str:
    if done(state, plan):
        return "failed" if state.failed else "succeeded"
    started = state.job is not None and state.job.status.workload_phase not in ("", "Pending")
    return "running" if started and not state.retries_left(plan) else "pending"
