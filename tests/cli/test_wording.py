"""Figures over groups in words."""

from __future__ import annotations

from cli.reporting.wording import results

SPREAD = {"min": 312, "median": 480.1, "max": 480.4, "worst": {"group": 6, "nodes": ["n6"]}}
WORST = "min 312, median 480.1, max 480.4, worst: group 6 (n6)"


def test_groups_that_stand_apart_are_named_with_their_value() -> None:
    outliers = [{"group": 6, "value": 312, "nodes": ["n6"]}, {"group": 2, "value": 401.5, "nodes": ["n2a", "n2b"]}]
    said = list(results({"busBandwidthGBps": {**SPREAD, "outliers": outliers}}))
    assert len(said) == 2
    assert said[0].endswith(WORST)
    assert said[1].endswith(", apart from the others: group 6 at 312 (n6); group 2 at 401.5 (n2a, n2b)")


def test_where_none_stands_apart_nothing_is_said_of_it() -> None:
    [said] = results({"busBandwidthGBps": SPREAD})
    assert said.endswith(WORST)
