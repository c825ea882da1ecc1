"""ConfigMaps that somebody has edited: the run that they belong to ends with a reason, never with what they say now."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from sync_hooks.api.names import iteration_name
from sync_hooks.api.packed import MOST_UNPACKED_BYTES, unpack
from sync_hooks.planning.plan import PLAN_KEY
from sync_hooks.report.iteration import RESULT_KEY, GroupResult, IterationResult, result_payload
from tests.support.hooks import condition
from tests.sync_hooks.test_workflow import job, marked, parent, runtime, stored_plan, sync
from tests.sync_hooks.test_workflow_course import to_the_end, true

__all__ = ["stored_plan"]  # a fixture
CRASHED = condition("Failed", reason="Crash", message="exit 1")
FAILED = {"workloadPhase": "Failed", "attribution": "None", "conditions": [CRASHED]}


def flipped(text: str) -> str:
    """Turn two bytes of what is packed."""
    content = bytearray(base64.b64decode(text))
    content[20] ^= 0xFF
    content[40] ^= 0xFF
    return base64.b64encode(content).decode()


def packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content)).decode()


BOMB = packed(b" " * (MOST_UNPACKED_BYTES + 1) + b"{}")
NESTED = packed(b'{"job":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001)
EDITS = [
    pytest.param(flipped, id="two bytes are flipped"),
    pytest.param(lambda text: text[:64], id="half of it is gone"),
    pytest.param(lambda _: BOMB, id="it is a bomb"),
    pytest.param(lambda _: NESTED, id="it is nested without end"),
    pytest.param(lambda _: packed(b"[1]"), id="it is something else"),
    pytest.param(lambda _: "", id="it is empty"),
]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("seen", [False, True], ids=["before it was seen", "after it was seen"])
def test_a_plan_that_somebody_broke_is_lost(stored_plan, seen: bool, edit):
    broken = {**stored_plan, "binaryData": {PLAN_KEY: edit(stored_plan["binaryData"][PLAN_KEY])}}
    assert true(sync(marked(stored_plan) if seen else parent(), [broken], {})) == {"Failed": "PlanLost"}


def under_way(stored_plan: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """A Workflow whose first group failed, its children, and the result that it asks for."""
    known = marked(stored_plan, launched="0-1")
    children = [stored_plan, runtime(stored_plan), job("run-g0-i1", **FAILED), job("run-g1-i1")]
    asked = sync(known, children, {}).children
    return known, children, next(item for item in asked if item["metadata"]["name"] == iteration_name("run", 1))


def holding(result: dict[str, Any], content: str) -> dict[str, Any]:
    return {**result, "binaryData": {RESULT_KEY: content}}


@pytest.mark.parametrize("edit", EDITS)
def test_a_result_that_somebody_broke_is_lost(stored_plan, edit):
    known, children, result = under_way(stored_plan)
    broken = holding(result, edit(result["binaryData"][RESULT_KEY]))
    assert true(sync(known, [*children, broken], {})) == {"Failed": "ResultLost"}


PASSED = (GroupResult(group=0), GroupResult(group=1))
OTHERS = [
    pytest.param(IterationResult(1, PASSED), id="a failure is called passed"),
    pytest.param(IterationResult(1, (PASSED[0], GroupResult(group=7))), id="a group that there is not"),
    pytest.param(IterationResult(1, (*PASSED, GroupResult(group=2))), id="more groups than there are"),
    pytest.param(IterationResult(2, PASSED), id="another iteration's"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_result_that_was_edited_before_it_was_noted_is_not_believed(stored_plan, other: IterationResult):
    known, children, result = under_way(stored_plan)
    answer = sync(known, [*children, holding(result, result_payload(other))], {})
    assert true(answer) == {"Failed": "ResultLost"}


@pytest.mark.parametrize("other", OTHERS)
def test_a_result_that_was_edited_after_it_was_noted_is_not_believed(stored_plan, other: IterationResult):
    known, children, result = under_way(stored_plan)
    noted = parent(status=sync(known, [*children, result], {}).status)
    answer, _ = to_the_end(noted, [*children, holding(result, result_payload(other))])
    assert true(answer) == {"Failed": "ResultLost"}


@pytest.mark.parametrize("other", OTHERS[1:])
def test_a_result_that_was_noted_before_hashes_were_counts_if_it_fits_its_summary(stored_plan, other: IterationResult):
    known, children, result = under_way(stored_plan)
    noted = sync(known, [*children, result], {}).status
    [summary] = noted["iterations"]
    del summary["sha256"]
    answer, _ = to_the_end(parent(status=noted), [*children, result])
    assert true(answer) == {"Failed": "IterationsFailed"}
    answer, _ = to_the_end(parent(status=noted), [*children, holding(result, result_payload(other))])
    assert true(answer) == {"Failed": "ResultLost"}


def test_no_more_is_unpacked_than_anything_of_ours_takes():
    assert len(unpack(gzip.compress(b" " * (MOST_UNPACKED_BYTES - 1)))) == MOST_UNPACKED_BYTES - 1
    with pytest.raises(ValueError, match="takes more than"):
        unpack(gzip.compress(b" " * (MOST_UNPACKED_BYTES + 1)))
