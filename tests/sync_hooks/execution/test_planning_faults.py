"""A fault of our own in planning ends the run with its words: asked again for ever it would only be repeated."""

from __future__ import annotations

import pytest

from sync_hooks import workflow
from sync_hooks.execution import planning_step
from tests.support.asking import ask
from tests.support.hooks import NOW, manifest, request

SPEC = {"image": "img", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}}


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def build(*_: object) -> None:
        raise error

    monkeypatch.setattr(planning_step, "build", build)


def test_a_fault_in_planning_ends_the_workflow_at_once_and_leaves_its_traceback_for_the_log(monkeypatch):
    fails_with(monkeypatch, TypeError("what nobody\nforesaw"))
    result = ask(workflow.sync, request(manifest("Workflow", "run", spec=SPEC)), {}, NOW)
    [failed] = [one for one in result.status["conditions"] if one["type"] == "Failed"]
    assert (failed["status"], failed["reason"]) == ("True", "BuildFailed")
    assert failed["message"] == "this is a fault of workloadrun: TypeError: what nobody foresaw"
    assert "Traceback" in result.fault
    assert "raise error" in result.fault


def test_want_of_memory_is_no_fault_of_the_run(monkeypatch):
    fails_with(monkeypatch, MemoryError())
    with pytest.raises(MemoryError):
        ask(workflow.sync, request(manifest("Workflow", "run", spec=SPEC)), {}, NOW)
