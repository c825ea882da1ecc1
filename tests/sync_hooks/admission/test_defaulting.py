"""Defaulting adds what is absent, touches nothing that is given, and survives any shape."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sync_hooks.admission.admit import admit
from sync_hooks.admission.defaulting import RUN_DEFAULTS, carried_over, defaulted
from sync_hooks.admission.patch import additions, escape
from tests.sync_hooks.admission.cases import manifest

MPI = {"mpi": {"binary": "a", "mpirunPath": "b"}}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param({}, {"orchestration": {"timeoutPerJob": "24h"}}, id="the-block-is-created-for-the-timeout"),
        pytest.param(
            {"orchestration": {"repeatCount": 2}},
            {"orchestration": {"repeatCount": 2, "timeoutPerJob": "24h"}},
            id="the-timeout-joins-what-is-there",
        ),
        pytest.param(
            {"gangScheduler": {"schedulerName": "kai"}},
            {"gangScheduler": {"schedulerName": "kai", "queue": "default-queue"}},
            id="a-queue-is-given",
        ),
        pytest.param(
            {"gangScheduler": {"schedulerName": "kai", "queue": ""}},
            {"gangScheduler": {"schedulerName": "kai", "queue": ""}},
            id="an-empty-queue-stays",
        ),
        pytest.param(
            {"framework": MPI}, {"framework": {"mpi": {**MPI["mpi"], "mpiImplementation": "OpenMPI"}}}, id="open-mpi"
        ),
        pytest.param(
            {"orchestration": {"timeoutPerJob": "86400s"}},
            {"orchestration": {"timeoutPerJob": "86400s"}},
            id="a-duration-stays-as-it-was-written",
        ),
    ],
)
def test_only_what_is_absent_is_added(given: dict[str, Any], added: dict[str, Any]) -> None:
    before = manifest("WorkloadRun", given)
    spec = defaulted(before, RUN_DEFAULTS)["spec"]
    assert {name: spec[name] for name in added} == added
    assert spec.keys() - before["spec"].keys() <= {"orchestration"}


@pytest.mark.parametrize(
    "shape",
    [
        None,
        [],
        "text",
        7,
        {},
        {"spec": None},
        {"spec": []},
        {"spec": {"framework": [], "gangScheduler": "kai", "orchestration": None}},
        {"spec": {"framework": {"mpi": None}, "gangScheduler": None, "orchestration": 24}},
        {
            "spec": {
                "framework": {"mpi": ["a"]},
                "gangScheduler": {"queue": None},
                "orchestration": {"timeoutPerJob": 3},
            }
        },
    ],
    ids=repr,
)
def test_any_shape_is_survived_and_nothing_in_it_is_changed(shape: Any) -> None:
    before = copy.deepcopy(shape)
    after = defaulted(shape, RUN_DEFAULTS)
    assert shape == before
    assert _without_additions(shape, after) == shape


def _without_additions(before: Any, after: Any) -> Any:
    if isinstance(before, dict) and isinstance(after, dict):
        return {name: _without_additions(before[name], after[name]) for name in before}
    return after


def test_the_patch_is_minimal_and_makes_the_defaulted_object() -> None:
    run = manifest("WorkloadRun", {"framework": MPI, "gangScheduler": {"schedulerName": "kai"}})
    assert additions(run, admit(run).object) == [
        {"op": "add", "path": "/spec/framework/mpi/mpiImplementation", "value": "OpenMPI"},
        {"op": "add", "path": "/spec/gangScheduler/queue", "value": "default-queue"},
        {"op": "add", "path": "/spec/orchestration", "value": {"timeoutPerJob": "24h"}},
    ]


def test_names_are_escaped_as_json_pointers_want_it() -> None:
    assert escape("a/b~c") == "a~1b~0c"
    assert additions({"a/b": {}}, {"a/b": {"~": 1}}) == [{"op": "add", "path": "/a~1b/~0", "value": 1}]


def test_a_defaulted_object_gets_no_patch() -> None:
    once = admit(manifest("WorkloadRun", {"framework": MPI})).object
    assert additions(once, admit(once).object) == []


def test_an_update_gets_the_defaults_that_are_stored() -> None:
    written = manifest("WorkloadRun", {"framework": MPI})
    stored = admit(written).object
    assert carried_over(written, stored, RUN_DEFAULTS) == stored


def test_an_update_gets_no_default_that_is_not_stored() -> None:
    old = manifest("WorkloadRun", {"framework": MPI})  # from before there were defaults
    assert carried_over(old, old, RUN_DEFAULTS) is old


def test_an_update_does_not_get_back_what_its_author_took_away() -> None:
    stored = admit(manifest("WorkloadRun", {"orchestration": {"repeatCount": 2}})).object
    assert carried_over(manifest("WorkloadRun", {}), stored, RUN_DEFAULTS)["spec"]["orchestration"] == {
        "timeoutPerJob": "24h"
    }


@pytest.mark.parametrize("kind", ["Workflow", "Job", "LogProfile", "BandwidthMeasurement", "GoodputMeasurement"])
def test_other_kinds_are_stored_as_they_are_written(kind: str) -> None:
    obj = manifest(kind, {})
    assert admit(obj).object is obj
