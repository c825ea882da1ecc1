"""Answers that every hook gives."""

from __future__ import annotations

import pytest

from sync_hooks import job, workflow, workloadrun
from sync_hooks.api.model import Condition
from sync_hooks.execution.answers import first, transitions
from tests.support.asking import Hook, ask
from tests.support.hooks import NOW, STAMP, condition, manifest, request


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="as many as there is room for"),
        pytest.param(["a", "b", "c"], ["a", "b", "and 1 more"], id="one more"),
    ],
)
def test_of_many_texts_the_first_are_shown_and_the_others_counted(texts: list[str], shown: list[str]):
    assert first(iter(texts), 2) == shown


@pytest.mark.parametrize(
    ("kind", "hook"),
    [("WorkloadRun", workloadrun.sync), ("Workflow", workflow.sync), ("Job", job.sync)],
    ids=["a run", "a Workflow", "a Job"],
)
def test_what_is_deleted_before_it_ever_had_a_status_is_left_as_it_is(kind: str, hook: Hook):
    going = manifest(kind, "run", metadata={"deletionTimestamp": STAMP}, status=None)
    answer = ask(hook, request(going), {}, NOW)
    assert (answer.status, answer.children, answer.resync_after) == ({}, (), 0)


def conditions(**states: str) -> list[Condition]:
    return [Condition.model_validate(condition(type_, status, reason="Why")) for type_, status in states.items()]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param({}, {"Failed": "True"}, [("Warning", "Failed")], id="it failed at once"),
        pytest.param({"Failed": "False"}, {"Failed": "True"}, [("Warning", "Failed")], id="it failed"),
        pytest.param({"Failed": "True"}, {"Failed": "True"}, [], id="it had failed before"),
        pytest.param({"InProgress": "True"}, {"InProgress": "False"}, [], id="it is not under way any more"),
        pytest.param({}, {"Succeeded": "True"}, [("Normal", "Succeeded")], id="it succeeded"),
        pytest.param({}, {"HardwareFailed": "True"}, [("Warning", "HardwareFailed")], id="a node failed"),
        pytest.param({}, {"Measuring": "True"}, [], id="a condition that is no news"),
    ],
)
def test_what_became_true_is_told_once(old: dict[str, str], new: dict[str, str], told: list[tuple[str, str]]):
    events = transitions(conditions(**old), conditions(**new))
    assert [(event.type, event.transition) for event in events] == told
