import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.api.limits import LARGEST_OBJECT_BYTES
from sync_hooks.overrides.jsonpatch import PatchProblem, apply_json_patch

DOCUMENT = {"a": 1, "list": [1, 2, 3], "map": {"x/y": 1, "m~n": 2, "": 3}, "true": True}
DOUBLING = [
    {"op": "copy", "from": "/list", "path": "/map/b"},
    {"op": "copy", "from": "/map", "path": "/list/-"},
]
NESTING = [
    {"op": "add", "path": "/b", "value": {}},
    {"op": "move", "from": "/map", "path": "/b/c"},
    {"op": "move", "from": "/b", "path": "/map"},
]
WITHOUT_A = {key: value for key, value in DOCUMENT.items() if key != "a"}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {**DOCUMENT, "b": 2}),
        ([{"op": "add", "path": "/list/1", "value": 9}], {**DOCUMENT, "list": [1, 9, 2, 3]}),
        ([{"op": "add", "path": "/list/3", "value": 9}], {**DOCUMENT, "list": [1, 2, 3, 9]}),
        ([{"op": "add", "path": "/list/-", "value": 9}], {**DOCUMENT, "list": [1, 2, 3, 9]}),
        ([{"op": "add", "path": "", "value": {}}], {}),
        ([{"op": "remove", "path": "/list/0"}], {**DOCUMENT, "list": [2, 3]}),
        ([{"op": "remove", "path": "/map/x~1y"}], {**DOCUMENT, "map": {"m~n": 2, "": 3}}),
        ([{"op": "remove", "path": "/map/"}], {**DOCUMENT, "map": {"x/y": 1, "m~n": 2}}),
        ([{"op": "replace", "path": "/map/m~0n", "value": 5}], {**DOCUMENT, "map": {"x/y": 1, "m~n": 5, "": 3}}),
        ([{"op": "replace", "path": "/list/2", "value": 5}], {**DOCUMENT, "list": [1, 2, 5]}),
        ([{"op": "replace", "path": "", "value": {"c": 1}}], {"c": 1}),
        ([{"op": "move", "from": "/a", "path": "/list/0"}], {**WITHOUT_A, "list": [1, 1, 2, 3]}),
        ([{"op": "copy", "from": "/list", "path": "/b"}], {**DOCUMENT, "b": [1, 2, 3]}),
        ([{"op": "test", "path": "/a", "value": 1.0}], DOCUMENT),
        ([{"op": "test", "path": "/map", "value": {"": 3, "m~n": 2, "x/y": 1}}], DOCUMENT),
        ('[{"op": "remove", "path": "/list"}]', {key: DOCUMENT[key] for key in ("a", "map", "true")}),
        ([], DOCUMENT),
    ],
)
def test_operations_are_applied_in_order(operations, expected):
    assert apply_json_patch(DOCUMENT, operations) == expected


@pytest.mark.parametrize(
    ("operations", "told"),
    [
        ([{"op": "remove", "path": "/none"}], "operation 0: there is no none"),
        ([{"op": "add", "path": "/list/4", "value": 1}], "index 4 is not within"),
        ([{"op": "add", "path": "/list/01", "value": 1}], "index 01 is not within"),
        ([{"op": "add", "path": "/list/x", "value": 1}], "index x is not within"),
        ([{"op": "add", "path": "/none/b", "value": 1}], "there is no none"),
        ([{"op": "add", "path": "/a/b", "value": 1}], "cannot be added to a plain value"),
        ([{"op": "add", "path": "/b"}], "value is missing"),
        ([{"op": "replace", "path": "/none", "value": 1}], "there is no none"),
        ([{"op": "remove", "path": "a"}], "start with a slash"),
        ([{"op": "remove"}], "path must be"),
        ([{"op": "test", "path": "/true", "value": 1}], "/true is true, not 1"),
        ([{"op": "move", "from": "/map", "path": "/map/inner"}], "into itself"),
        ([{"op": "copy", "from": "/map", "path": "/map/inner"}], "into itself"),
        ([{"op": "copy", "from": "", "path": "/inner"}], "into itself"),
        ([{"op": "add", "path": "/b", "value": "x" * LARGEST_OBJECT_BYTES}], "the result has"),
        (json.dumps([{"op": "add", "path": "/b", "value": "\ud800"}]), "cannot be written as JSON"),
        (DOUBLING * 40, "copies must not come to more than"),
        (NESTING * 2000, "nests values too deeply"),
        ([{"op": "merge", "path": "/a"}], "op merge is unknown"),
        (["remove"], "must be an object"),
        ([{"op": "add", "path": "/b", "value": 1}, {"op": "remove", "path": "/c"}], "operation 1"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ({"op": "remove"}, "must be a list"),
        (None, "must be a list"),
    ],
)
def test_a_patch_that_cannot_be_applied_says_why(operations, told):
    problem = apply_json_patch(DOCUMENT, operations)
    assert isinstance(problem, PatchProblem)
    assert told in problem.message


def test_the_document_and_the_patch_are_left_as_they_were():
    document, added = copy.deepcopy(DOCUMENT), {"inner": []}
    patch = [
        {"op": "add", "path": "/b", "value": added},
        {"op": "add", "path": "/b/inner/-", "value": 1},
        {"op": "remove", "path": "/list/0"},
        {"op": "copy", "from": "/b", "path": "/c"},
        {"op": "add", "path": "/c/inner/-", "value": 2},
    ]
    result = apply_json_patch(document, patch)
    assert (document, added) == (DOCUMENT, {"inner": []})
    assert (result["b"], result["c"]) == ({"inner": [1]}, {"inner": [1, 2]})


pointers = st.text(alphabet="/~01-alistmap", max_size=12)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "other"]), "path": pointers},
    optional={"from": pointers, "value": st.integers() | st.lists(st.integers(), max_size=2) | st.none()},
)


@given(st.lists(operations | st.integers(), max_size=4) | st.text(max_size=20))
def test_any_patch_gives_a_document_or_a_reason(patch):
    result = apply_json_patch(DOCUMENT, patch)
    assert not isinstance(result, PatchProblem) or result.message


PLACES = st.lists(st.sampled_from(["a", "b", "-", "0"]), max_size=3).map(lambda parts: "".join(f"/{p}" for p in parts))
GROWING = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "copy", "copy", "copy", "move", "replace"]),
        "from": PLACES,
        "path": PLACES,
        "value": st.sampled_from([{}, [], {"a": {"b": []}}, "x" * 1000]),
    }
)


@given(st.lists(GROWING, max_size=6), st.integers(1, 12))
def test_no_sequence_of_operations_makes_a_document_above_the_bound(operations, times):
    document = {"a": {"a": ["x" * 1000]}, "b": [{}]}
    result = apply_json_patch(document, operations * times)
    assert isinstance(result, PatchProblem) or len(json.dumps(result)) <= 2 * LARGEST_OBJECT_BYTES  # with blanks


@pytest.mark.parametrize("times", range(1, 60, 7))
def test_copies_that_double_are_ended_before_they_are_large(times):
    result = apply_json_patch(DOCUMENT, DOUBLING * times)
    assert isinstance(result, PatchProblem) or len(json.dumps(result, separators=(",", ":"))) <= LARGEST_OBJECT_BYTES
    assert isinstance(result, PatchProblem) == (times > 10)
