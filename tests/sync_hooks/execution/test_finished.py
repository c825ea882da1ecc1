"""Iterations that have ended: their figures are remembered, which never changes what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.memo import Memo
from sync_hooks.api.request import ConfigMapChild, Request
from sync_hooks.api.workflow import IterationSummary
from sync_hooks.execution import finished
from sync_hooks.execution.finished import finished_figures
from sync_hooks.report.figures import Figures, figures_of
from sync_hooks.report.iteration import RESULT_KEY, GroupResult, IterationResult, digest, result_payload
from tests.support.hooks import live, manifest


@pytest.fixture(autouse=True)
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Start a process anew; the iterations whose results are read are noted."""
    read: list[int] = []
    real = finished.read_result

    def reading(stored: ConfigMapChild) -> IterationResult | None:
        result = real(stored)
        read.append(result.iteration if result else 0)
        return result

    monkeypatch.setattr(finished, "_FIGURES", Memo(1 << 20))
    monkeypatch.setattr(finished, "read_result", reading)
    return read


def result(number: int) -> IterationResult:
    return IterationResult(number, tuple(GroupResult(one, figures={"goodputRatio": number + one}) for one in range(6)))


def stored(number: int, *, of: int | None = None) -> ConfigMapChild:
    content = result_payload(result(of or number))
    return ConfigMapChild(metadata={"name": f"run-i{number}"}, binary_data={RESULT_KEY: content})  # type: ignore[arg-type]


def about(*results: ConfigMapChild) -> Request:
    children = {f"run-i{number}": one for number, one in enumerate(results, 1)}
    return Request(live(manifest("Workflow", "run")), {"ConfigMap.v1": children})


def noted(number: int, **more: Any) -> IterationSummary:
    known = {"iteration": number, "succeeded": 6, "failed": 0, "result": f"run-i{number}"}
    return IterationSummary(**{**known, "sha256": digest(stored(number)), **more})


def test_of_iterations_whose_figures_are_known_only_the_last_one_is_read(reads: list[int]) -> None:
    request = about(*(stored(number) for number in range(1, 101)))
    summaries = [noted(number) for number in range(1, 101)]
    for number in range(1, 101):
        for _ in range(3):
            finished_figures(request, summaries[:number])
    assert reads == list(range(1, 101))


def test_a_process_that_has_just_begun_tells_the_same_figures() -> None:
    request, summaries = about(*map(stored, range(1, 9))), [noted(number) for number in range(1, 9)]
    for number in range(1, 9):
        warm = finished_figures(request, summaries[:number])
    finished._FIGURES = Memo[Figures](1 << 20)
    assert finished_figures(request, summaries) == warm == figures_of([result(number) for number in range(1, 9)])


@pytest.mark.parametrize(
    ("last", "summary"),
    [
        pytest.param(stored(2, of=1), noted(2), id="another result than the one that was noted"),
        pytest.param(stored(2, of=1), noted(2, sha256=None), id="one of another iteration, noted without a hash"),
        pytest.param(stored(2), noted(2, succeeded=5), id="one of another number of groups"),
        pytest.param(ConfigMapChild(), noted(2), id="nothing in it"),
        pytest.param(ConfigMapChild(), noted(2, sha256=None), id="nothing in it, noted without a hash"),
        pytest.param(stored(2), noted(2, result="gone"), id="none"),
    ],
)
def test_where_a_result_is_gone_or_changed_there_are_no_figures_whatever_is_remembered(
    last: ConfigMapChild, summary: IterationSummary
) -> None:
    good = about(stored(1), stored(2))
    assert finished_figures(good, [noted(1), noted(2)])
    assert finished_figures(about(stored(1), last), [noted(1), summary]) == {}
