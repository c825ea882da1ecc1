import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.overrides.merge import UnknownDirectiveError, merge_object, merge_patch

plain = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
keys = st.sampled_from(["a", "b", "c", "env", "volumes", "volumeMounts", "name"])
json_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)
objects = st.dictionaries(keys, json_values, max_size=4)


@pytest.mark.parametrize(
    ("base", "patch", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}, "c": 1}, {"a": {"$patch": "delete"}}, {"c": 1}),
        ({"a": 1}, {"b": {"c": None}}, {"a": 1, "b": {}}),
    ],
    ids=["add", "null deletes", "lists replace", "a map replaces a value", "replace", "delete", "null of nothing"],
)
def test_a_merge_patch_is_laid_over(base, patch, merged):
    assert merge_patch(base, patch) == merged


@pytest.mark.parametrize("patch", [{"$setElementOrder/env": []}, {"a": {"$retainKeys": ["b"]}}, {"$patch": "merge"}])
def test_a_directive_without_meaning_is_refused(patch):
    with pytest.raises(UnknownDirectiveError, match="is not supported"):
        merge_patch({}, patch)


@pytest.mark.parametrize(
    ("base", "patch", "merged"),
    [
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "value": "1"}]},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]},
            {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]},
            {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]},
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]},
            {"volumeMounts": [{"name": "w", "mountPath": "/b"}]},
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b"}]},
        ),
        ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        ({"env": [{"name": "A"}]}, {"env": []}, {"env": []}),
        ({"limits": {"gpu": "8", "cpu": "1"}}, {"limits": {"gpu": None}}, {"limits": {"cpu": "1"}}),
        ({"limits": {"gpu": "8"}}, {"limits": {"gpu": 4}}, {"limits": {"gpu": 4}}),
        ({}, {"limits": {"gpu": None}}, {"limits": {}}),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "B", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        ),
    ],
    ids=[
        "entries merge in place and new ones follow",
        "a variable has one source",
        "a volume has one source",
        "the same source merges",
        "mounts go by place",
        "plain lists replace",
        "entries without names replace",
        "an empty list replaces",
        "null deletes",
        "numbers replace text",
        "null is never added",
        "of a repeated name the last counts",
    ],
)
def test_an_object_is_merged_into_one_of_its_name(base, patch, merged):
    assert merge_object(base, patch) == merged


@given(objects)
def test_an_empty_patch_changes_nothing(base):
    assert merge_patch(base, {}) == base
    assert merge_object(base, {}) == base


@given(objects, objects)
def test_what_is_merged_is_left_as_it_was(base, patch):
    before = copy.deepcopy((base, patch))
    merge_patch(base, patch)
    merge_object(base, patch)
    assert (base, patch) == before


@given(objects, objects)
def test_merging_twice_is_merging_once(base, patch):
    assert merge_patch(merge_patch(base, patch), patch) == merge_patch(base, patch)
    assert merge_object(merge_object(base, patch), patch) == merge_object(base, patch)


@given(objects, st.sampled_from(["a", "b", "env"]))
def test_null_deletes_at_the_top(base, key):
    assert key not in merge_patch(base, {key: None})
    assert key not in merge_object(base, {key: None})
