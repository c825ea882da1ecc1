"""Every rule of the table lets its good object through, and says of its bad one what the table says, and no more."""

from __future__ import annotations

import pytest

from sync_hooks.admission.admit import admit
from tests.sync_hooks.admission.cases import Case, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_good_object_is_admitted(case: Case) -> None:
    assert admit(case.good).errors == ()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bad_object_is_refused_with_exactly_these_causes(case: Case) -> None:
    assert {error.field: error.type for error in admit(case.bad).errors} == case.errors


def test_no_rule_stands_twice() -> None:
    rules = [case.rule for case in CASES]
    assert sorted(set(rules)) == sorted(rules)
