"""Where groups stand, and which are launched next."""

from __future__ import annotations

import pytest

from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.groups import done, group_states, progress, to_launch
from sync_hooks.planning.plan import Group, Plan
from tests.support.hooks import condition, job_child

FOUR_GROUPS = tuple(Group(nodes=(f"n{number}a", f"n{number}b")) for number in range(4))
FINAL = {"settled": True, "drained": True, "workloadPhase": "Succeeded", "conditions": [condition("Succeeded")]}
BAD = {**FINAL, "workloadPhase": "Failed", "conditions": [condition("Failed", reason="WorkloadFailed")]}


def plan(**changes: object) -> Plan:
    return Plan(prefix="run", **{"groups": FOUR_GROUPS, **changes})  # type: ignore[arg-type]


def states(plan: Plan, jobs: dict[str, dict], **status: object):
    children = {name: job_child(name, **facts) for name, facts in jobs.items()}
    return group_states(plan, 1, children, WorkflowStatus.model_validate(status))


def test_all_groups_are_launched_at_once_when_nothing_limits_them():
    assert to_launch(plan(), states(plan(), {}), 100) == ((0, 0), (1, 0), (2, 0), (3, 0))


def test_an_answer_never_holds_more_new_jobs_than_allowed():
    assert to_launch(plan(), states(plan(), {}), 3) == ((0, 0), (1, 0), (2, 0))


def test_max_concurrent_is_a_sliding_window_not_a_wave():
    limited = plan(max_concurrent=2)
    jobs = {"run-g0-i1": FINAL, "run-g1-i1": {"workloadPhase": "Running"}}
    assert to_launch(limited, states(limited, jobs, launched="0-1"), 100) == ((2, 0),)


def test_a_group_waits_for_nodes_that_a_running_group_uses():
    overlapping = plan(groups=(Group(nodes=("a", "b")), Group(nodes=("b", "c")), Group(nodes=("d",))))
    assert to_launch(overlapping, states(overlapping, {}), 100) == ((0, 0), (2, 0))
    jobs = {"run-g0-i1": FINAL, "run-g2-i1": FINAL}
    assert to_launch(overlapping, states(overlapping, jobs, launched="0,2"), 100) == ((1, 0),)


def test_nodes_of_a_job_that_is_not_drained_stay_in_use():
    overlapping = plan(groups=(Group(nodes=("a",)), Group(nodes=("a",))))
    jobs = {"run-g0-i1": {**FINAL, "drained": False}}
    assert to_launch(overlapping, states(overlapping, jobs, launched="0"), 100) == ()


def test_a_job_that_was_seen_and_is_not_there_is_missing_and_never_made_again():
    missing = states(plan(), {}, launched="1")[1]
    assert missing.missing
    assert 1 not in dict(to_launch(plan(), states(plan(), {}, launched="1"), 100))


def test_a_lost_job_is_a_failed_group():
    lost = states(plan(retry_failed_groups=3), {}, launched="1", lost="1")[1]
    assert lost.failed
    assert done(lost, plan(retry_failed_groups=3))


def test_a_failed_group_is_tried_again_under_a_new_name_while_retries_are_left():
    retrying = plan(retry_failed_groups=1)
    assert (0, 1) in to_launch(retrying, states(retrying, {"run-g0-i1": BAD}, launched="0"), 100)
    both = {"run-g0-i1": BAD, "run-g0-i1-t1": BAD}
    assert done(states(retrying, both, launched="0", retries={"0": 1})[0], retrying)


def test_the_jobs_of_earlier_tries_are_kept_in_order():
    jobs = {"run-g0-i1-t2": BAD, "run-g0-i1": BAD, "run-g0-i1-t1": BAD, "run-g1-i1": BAD, "run-g0-i2": BAD}
    first, second, *_ = states(plan(retry_failed_groups=2), jobs, launched="0-1")
    assert (first.retry, [job.name for job in first.earlier]) == (2, ["run-g0-i1", "run-g0-i1-t1"])
    assert second.earlier == ()


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param([condition("Failed", reason="JobTimedOut")], id="timed out"),
        pytest.param([condition("Failed", reason="WorkloadFailed"), condition("HardwareFailed")], id="hardware"),
        pytest.param([condition("Succeeded"), condition("ValidationFailed")], id="threshold violated"),
        pytest.param([condition("Failed", reason="WorkloadDeleted")], id="somebody deleted the TrainJob"),
        pytest.param([condition("Failed", reason="InvalidSpec")], id="spec that cannot be understood"),
    ],
)
def test_some_failures_are_not_tried_again(conditions):
    retrying = plan(retry_failed_groups=1)
    assert done(states(retrying, {"run-g0-i1": {**BAD, "conditions": conditions}}, launched="0")[0], retrying)


def test_a_group_whose_node_was_drained_is_not_tried_again():
    retrying = plan(retry_failed_groups=1)
    drained = {**BAD, "failedNodes": [{"name": "n0a", "reason": "Drained"}]}
    assert done(states(retrying, {"run-g0-i1": drained}, launched="0")[0], retrying)


def test_a_group_whose_jobs_name_is_taken_ends_and_is_never_launched():
    taken = states(plan(), {}, refused={"1": "Job run-g1-i1 belongs to somebody else"})
    assert done(taken[1], plan())
    assert to_launch(plan(), taken, 100) == ((0, 0), (2, 0), (3, 0))


def test_jobs_of_other_iterations_and_of_other_names_do_not_count():
    assert states(plan(), {"run-g0-i2": FINAL, "something": FINAL})[0].job is None


def test_progress_counts_every_group_once():
    jobs = {"run-g0-i1": FINAL, "run-g1-i1": BAD, "run-g2-i1": {"workloadPhase": "Running"}}
    counted = progress(plan(), 1, states(plan(), jobs, launched="0-2"))
    assert (counted.pending, counted.running, counted.succeeded, counted.failed) == (1, 1, 1, 1)


def test_a_group_that_failed_is_counted_as_failed_and_one_that_passed_is_not():
    jobs = {"run-g0-i1": FINAL, "run-g1-i1": FINAL, "run-g2-i1": FINAL, "run-g3-i1": BAD}
    counted = progress(plan(), 1, states(plan(), jobs, launched="0-3"))
    assert (counted.succeeded, counted.failed) == (3, 1)


def test_a_group_whose_workload_waits_is_pending():
    jobs = {"run-g0-i1": {"workloadPhase": "Pending"}, "run-g1-i1": {"workloadPhase": "Running"}, "run-g2-i1": {}}
    counted = progress(plan(), 1, states(plan(), jobs, launched="0-2"))
    assert (counted.pending, counted.running) == (3, 1)


def test_a_job_that_is_there_is_not_made_again_although_the_status_has_not_noted_it():
    assert to_launch(plan(), states(plan(), {"run-g0-i1": FINAL}), 100) == ((1, 0), (2, 0), (3, 0))


def test_a_group_whose_retry_is_not_seen_any_more_has_not_ended_with_the_job_before():
    retrying = plan(retry_failed_groups=1)
    group = states(retrying, {"run-g0-i1": BAD}, launched="0", retries={"0": 1})[0]
    assert (group.missing, group.ended, group.occupies) == (True, False, True)
