"""Laws of admission, over objects near valid ones: it is total, it only adds, it says the same twice."""

from __future__ import annotations

import json
import random
import re
from datetime import date, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sync_hooks.admission.admit import admit
from sync_hooks.admission.patch import additions
from sync_hooks.admission.review import Face
from sync_hooks.api import names
from sync_hooks.api.limits import (
    JOB_NAMES,
    MOST_ITERATIONS,
    MOST_NODES_PER_GROUP,
    MOST_RESTARTS,
    MOST_RETRIES,
)
from tests.properties import run_names
from tests.sync_hooks.admission.cases import BASES, cases
from webhook.admission import answer

SEEDS = [obj for case in cases() for obj in (case.good, case.bad) if len(str(obj)) < 10_000]
MOST_GROUPS = 10_000  # more do not fit beside each other, see `sync_hooks.planning.room`
FIRST_DAY = date(2026, 1, 1)
FUZZED_CALLS = 20_000
CAUSES = {
    "FieldValueRequired",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueForbidden",
    "FieldValueDuplicate",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
}
STRANGE: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        10**30,
        0.5,
        1e300,
        "",
        " ",
        "\0",
        "a" * 300,
        "24h",
        "-5m",
        "1d",
        "8Gi",
    ),
    *("value >= 300", "value", "(", "{{", "../..", "/dev/shm", "dshm", "\N{SNOWMAN}", "\u202e", "a/b~c", [], {}, [[]]),
    *([None], {"": ""}, {"$patch": "delete"}, [{"name": "a"}], {"name": None}),
]


def near_valid(source: random.Random) -> Any:
    """Take an object of the table and change a few places, some to what stands elsewhere in the table."""
    obj = json.loads(json.dumps(source.choice(SEEDS)))
    for _ in range(source.randint(0, 3)):
        obj = changed(obj, source)
    return obj


def changed(value: Any, source: random.Random) -> Any:
    """Change one place at or below a value."""
    if isinstance(value, dict) and value and source.random() < 0.85:
        key = source.choice(list(value))
        return {**value, key: changed(value[key], source)}
    if isinstance(value, list) and value and source.random() < 0.85:
        place = source.randrange(len(value))
        return [*value[:place], changed(value[place], source), *value[place + 1 :]]
    return replaced(value, source)


def replaced(value: Any, source: random.Random) -> Any:
    """Put something else in place of a value, or beside it, or take a part away."""
    kind = source.randrange(5)
    if kind == 0 and isinstance(value, dict):
        other = source.choice(SEEDS)["spec"]
        name = source.choice(list(other))
        return {**value, name: other[name]}
    if kind == 1 and isinstance(value, dict) and value:
        return {name: part for name, part in value.items() if name != source.choice(list(value))}
    if kind == 2 and isinstance(value, str):
        return value + source.choice(["", "x", "X", "-", " ", "\0", ".", "=", "é"])
    if kind == 3:
        return [value, value]
    return source.choice(STRANGE)


OBJECTS = st.randoms(use_true_random=False).map(near_valid)
LAW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(OBJECTS)
@LAW
def test_every_object_is_judged_in_order_and_in_kubernetes_own_words(obj: Any) -> None:
    errors = admit(obj).errors
    assert [(error.field, error.type) for error in errors] == sorted({(error.field, error.type) for error in errors})
    assert {error.type for error in errors} <= CAUSES
    assert all(error.message and len(error.message) < 1500 and len(error.field) <= 400 for error in errors)


@given(OBJECTS)
@LAW
def test_defaulting_is_idempotent(obj: Any) -> None:
    once = admit(obj)
    twice = admit(once.object)
    assert twice.object == once.object
    assert additions(once.object, twice.object) == []
    assert twice.errors == once.errors


@given(OBJECTS)
@LAW
def test_defaulting_changes_nothing_that_is_given(obj: Any) -> None:
    before = json.dumps(obj)
    after = admit(obj).object
    assert json.dumps(obj) == before
    assert json.dumps(taken_back(after, additions(obj, after))) == before


def taken_back(obj: Any, patch: list[dict[str, Any]]) -> Any:
    """Remove what a patch added."""
    copy = json.loads(json.dumps(obj))
    for operation in patch:
        *parents, last = operation["path"].split("/")[1:]
        place = copy
        for part in parents:
            place = place[part]
        del place[last]
    return copy


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda j: st.lists(j) | st.dictionaries(st.text(), j),
    )
)
@LAW
def test_any_json_in_place_of_a_spec_is_judged(spec: Any) -> None:
    for kind in BASES:
        admit({"apiVersion": "cre.nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": "a"}, "spec": spec})


def call(obj: Any, operation: str) -> bytes:
    kind = obj.get("kind") if isinstance(obj, dict) else ""
    request = {
        "uid": "2e8ee2e0-0000-4000-8000-000000000000",
        "kind": {"group": "cre.nvidia.com", "version": "v1alpha1", "kind": kind if isinstance(kind, str) else ""},
        "operation": operation,
        "name": "run",
        "object": obj,
        "oldObject": obj if operation == "UPDATE" else None,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


@pytest.mark.parametrize("part", range(10))
def test_both_webhooks_answer_whatever_comes(part: int) -> None:
    source = random.Random(part)
    for number in range(FUZZED_CALLS // 20):
        body = call(near_valid(source), "UPDATE" if number % 8 == 0 else "CREATE")
        if number % 4 == 0:
            body = damaged(body, source)
        for face in Face:
            answered = answer(body, "application/json", face)
            response = msgspec.json.decode(answered.body)["response"]
            assert answered.status in (200, 400), body
            assert response["allowed"] or response["status"]["message"], body


def damaged(body: bytes, source: random.Random) -> bytes:
    """Change, drop or double a few bytes."""
    place, length = source.randrange(len(body)), source.randint(0, 8)
    return (
        body[:place] + source.choice([b"", source.randbytes(2), body[place : place + 3] * 2]) + body[place + length :]
    )


@given(
    run_names.names(run_names.LONGEST_OF_ANY_OBJECT),
    st.integers(1, MOST_NODES_PER_GROUP),
    st.integers(1, MOST_ITERATIONS),
    st.integers(0, MOST_RETRIES),
    st.integers(0, MOST_RESTARTS),
)
@example(run_names.LONG_NAMES[0], MOST_NODES_PER_GROUP, MOST_ITERATIONS, MOST_RETRIES, MOST_RESTARTS)
@example(run_names.LONG_NAMES[1], MOST_NODES_PER_GROUP, MOST_ITERATIONS, MOST_RETRIES, MOST_RESTARTS)
@example(run_names.LONG_NAMES[2], MOST_NODES_PER_GROUP, MOST_ITERATIONS, MOST_RETRIES, MOST_RESTARTS)
@example(run_names.LONG_NAMES[3], MOST_NODES_PER_GROUP, MOST_ITERATIONS, MOST_RETRIES, MOST_RESTARTS)
@LAW
def test_the_names_of_every_admitted_run_fit(run: str, nodes: int, iteration: int, retry: int, attempt: int) -> None:
    job = names.job_name(names.job_prefix(run), MOST_GROUPS - 1, iteration, retry)
    train_job = names.train_job_name(job, attempt)
    assert re.fullmatch(JOB_NAMES.pattern, job)
    assert len(job) <= JOB_NAMES.longest
    for pod in (f"{train_job}-node-0-{nodes - 1}-xxxxx", f"{train_job}-launcher-0-0-xxxxx"):
        assert len(pod) <= 63


@given(run_names.alike())
@example(("nccl-all-reduce-2026-08-23", "nccl-all-reduce-2027-08-20"))  # equal in 20 bits of what they were told by
@example(("8-gpus", "r-8-gpus"))
@example((f"8-gpus-{'x' * 30}", f"r-8-gpus-{'x' * 30}"))
@LAW
def test_runs_that_begin_alike_never_share_a_name(runs: tuple[str, str]) -> None:
    for name_of in (names.job_prefix, names.runtime_name, names.config_name):
        first, second = map(name_of, runs)
        assert first != second


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([f"nccl-all-reduce-{FIRST_DAY + timedelta(days=day)}" for day in range(3650)], id="ten years"),
        pytest.param([f"nccl-all-reduce-nightly-{number}" for number in range(20_000)], id="a counter"),
        pytest.param([f"{number}-nccl-all-reduce-of-node" for number in range(20_000)], id="a counter in front"),
    ],
)
def test_runs_named_by_day_or_number_never_share_a_name(runs: list[str]) -> None:
    assert len(set(map(names.job_prefix, runs))) == len(set(map(names.runtime_name, runs))) == len(runs)
