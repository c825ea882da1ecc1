"""The store answers as an API server does."""

from __future__ import annotations

from typing import Any

import pytest

from cli.simulator.entry import Change, Object, with_metadata
from cli.simulator.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from cli.simulator.kinds import COMPUTE_DOMAIN, CORE, CRE, Discovery
from cli.simulator.store import Store
from tests.cli.simulator.cluster import config_map, parent

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def store() -> Store:
    return Store(lambda: NOW)


def pod(name: str = "p", **spec: Any) -> Object:
    return {"apiVersion": CORE, "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def test_a_created_object_gets_what_the_server_fills_in(store: Store) -> None:
    entry = store.create({**parent(), "status": {"forged": True}})
    assert entry.obj["metadata"] == {
        "name": "run",
        "namespace": "default",
        "uid": entry.uid,
        "resourceVersion": "1",
        "creationTimestamp": NOW,
        "generation": 1,
    }
    assert "status" not in entry.obj


def test_a_name_is_taken_once(store: Store) -> None:
    store.create(parent())
    with pytest.raises(AlreadyExists, match=r'workloadruns\.cre\.nvidia\.com "run" already exists'):
        store.create(parent())


def test_a_name_is_made_of_generate_name(store: Store) -> None:
    entry = store.create({**parent(), "metadata": {"namespace": "default", "generateName": "run-"}})
    assert entry.name.startswith("run-")
    assert len(entry.name) == len("run-") + 5


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (parent("Run"), "RFC 1123"),
        (parent("r" * 254), "253"),
        (parent("-run"), "RFC 1123"),
        (parent(labels={"a": "x" * 64}), "valid label value"),
        (parent(labels={"/a": "x"}), "qualified name"),
        (parent(annotations={"a": "x" * (256 << 10)}), "Too long: may not be more than 262144 bytes"),
        (parent(spec={"a": None}), r'spec.a: Invalid value: "null"'),
        (parent(spec={"a": [{"b": None}]}), r"spec.a\[0\].b"),
        (parent(spec={"a": "x" * (2 << 20)}), "Too long"),
        (parent(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p"}]), r"ownerReferences\[0\].uid"),
        (
            parent(
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
                    for name in ("a", "b")
                ]
            ),
            "Only one reference can have Controller set to true",
        ),
    ],
    ids=[
        "upper-case", "long-name", "leading-hyphen", "long-label", "label-without-prefix", "large-annotations", "null",
        "nested-null", "large-object", "owner-without-uid", "two-controllers",
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused(store: Store, obj: Object, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        store.create(obj)
    assert store.all() == []


@pytest.mark.parametrize("field", ["jobTemplate", "jobTemplatePatch"])
def test_a_null_where_the_schema_is_open_is_stored(store: Store, field: str) -> None:
    spec = {"overrides": [{field: {"spec": {"thresholds": None}}}]}
    assert store.create(parent(spec=spec)).obj["spec"] == spec
    with pytest.raises(Invalid, match=r"spec.overrides\[0\].when: Invalid value"):
        store.create(parent("other", spec={"overrides": [{"when": None}]}))


def test_a_null_in_text_is_no_null(store: Store) -> None:
    assert store.create(parent(spec={"a": "null", "null": 1})).obj["spec"] == {"a": "null", "null": 1}


def test_whole_floats_come_back_as_integers(store: Store) -> None:
    entry = store.create(parent(spec={"a": 300.0, "b": [1.5, 2.0]}))
    assert repr(entry.obj["spec"]) == "{'a': 300, 'b': [1.5, 2]}"


def test_a_kind_whose_crd_is_missing_is_not_found() -> None:
    store = Store(lambda: NOW, Discovery().without(COMPUTE_DOMAIN))
    obj = {"apiVersion": COMPUTE_DOMAIN.api_version, "kind": "ComputeDomain", "metadata": {"name": "d"}}
    with pytest.raises(NotFound, match="could not find the requested resource"):
        store.create(obj)
    assert store.find(COMPUTE_DOMAIN.api_version, "ComputeDomain", "", "d") is None


def test_an_update_needs_the_version_that_was_read(store: Store) -> None:
    entry = store.create(parent())
    store.update({**entry.obj, "spec": {"a": 1}})
    with pytest.raises(Conflict, match="the object has been modified"):
        store.update({**entry.obj, "spec": {"a": 2}})


def test_an_update_without_a_version_wins_but_not_over_another_uid(store: Store) -> None:
    entry = store.create(parent())
    assert store.update(parent(spec={"a": 1})).obj["spec"] == {"a": 1}
    store.delete(entry)
    store.create(parent())
    with pytest.raises(Conflict):
        store.update(with_metadata(parent(spec={"a": 2}), uid=entry.uid))


def test_spec_and_status_are_written_apart(store: Store) -> None:
    entry = store.create(parent(spec={"a": 1}))
    entry = store.update_status({**entry.obj, "spec": {"a": 2}, "status": {"b": 1}})
    assert (entry.obj["spec"], entry.obj["status"]) == ({"a": 1}, {"b": 1})
    entry = store.update({**entry.obj, "spec": {"a": 2}, "status": {"b": 2}})
    assert (entry.obj["spec"], entry.obj["status"]) == ({"a": 2}, {"b": 1})


def test_the_generation_counts_changes_of_the_spec(store: Store) -> None:
    entry = store.create(parent(spec={"a": 1}))
    for change, generation in [
        ({"metadata": {**entry.metadata, "labels": {"l": "1"}}}, 1),
        ({"spec": {"a": 2}}, 2),
        ({"spec": {}}, 3),
    ]:
        entry = store.update(with_metadata({**entry.obj, **change}, resourceVersion=None))
        assert entry.metadata["generation"] == generation
    assert store.update_status({**entry.obj, "status": {"s": 1}}).metadata["generation"] == 3
    assert "generation" not in store.create(config_map("c", namespace="default")).metadata


def test_a_write_that_changes_nothing_is_accepted_and_told_to_nobody(store: Store) -> None:
    entry = store.create(parent(spec={"a": 300}))
    changes: list[Change] = []
    store.watch(changes.append)
    assert store.update({**entry.obj, "spec": {"a": 300.0}}) is entry
    assert changes == []
    assert store.tally.total(verb="update") == 1


def test_deletion_waits_for_finalizers_and_counts_as_a_generation(store: Store) -> None:
    entry = store.create(parent(finalizers=["f/a", "f/b"]))
    store.delete(entry)
    store.delete(entry)
    marked = store.get(CRE, "WorkloadRun", "default", "run")
    assert marked.metadata["deletionTimestamp"] == NOW
    assert (marked.metadata["deletionGracePeriodSeconds"], marked.metadata["generation"]) == (0, 2)
    marked = store.update(with_metadata(marked.obj, finalizers=["f/b"]))
    assert marked.deleting
    store.update(with_metadata(marked.obj, finalizers=None))
    assert store.find(CRE, "WorkloadRun", "default", "run") is None


def test_a_deletion_names_the_uid_that_it_means(store: Store) -> None:
    old = store.create(parent())
    store.delete(old)
    with pytest.raises(NotFound):
        store.delete(old)
    store.create(parent())
    with pytest.raises(Conflict, match="UID in precondition"):
        store.delete(old)


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [
        ("Foreground", ["f/a", "foregroundDeletion"]),
        ("Orphan", ["f/a", "orphan"]),
        ("Background", ["f/a"]),
        (None, ["f/a"]),
    ],
)
def test_a_propagation_policy_becomes_a_finalizer(store: Store, propagation: Any, finalizers: list[str]) -> None:
    entry = store.create(parent(finalizers=["f/a"]))
    store.delete(entry, propagation=propagation)
    assert store.get(CRE, "WorkloadRun", "default", "run").metadata["finalizers"] == finalizers


def test_a_pod_with_a_node_stays_until_its_kubelet_removes_it(store: Store) -> None:
    entry = store.create(pod(nodeName="n", terminationGracePeriodSeconds=7))
    store.delete(entry)
    marked = store.get(CORE, "Pod", "default", "p")
    assert marked.metadata["deletionGracePeriodSeconds"] == 7
    store.delete(marked, at_once=True)
    assert store.all() == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_goes_at_once(store: Store, phase: str) -> None:
    entry = store.seed({**pod(nodeName="n"), "status": {"phase": phase}})
    store.delete(entry)
    assert store.all() == []


def test_lists_follow_labels_as_they_change(store: Store) -> None:
    first = store.create(config_map("b", namespace="default", labels={"l": "1", "m": "x"}))
    store.create(config_map("a", namespace="default", labels={"l": "1"}))
    store.create(config_map("c", namespace="other", labels={"l": "1"}))

    def names(namespace: str | None, **labels: str) -> list[str]:
        return [entry.name for entry in store.select(CORE, "ConfigMap", namespace, labels)]

    assert names(None, l="1") == ["a", "b", "c"]
    assert names("default", l="1", m="x") == ["b"]
    store.update(with_metadata(first.obj, labels={"l": "2"}))
    assert (names("default", l="1"), names("default", l="2"), names(None)) == (["a"], ["b"], ["a", "b", "c"])
    store.delete(first)
    assert names(None, l="2") == []


def test_a_merge_patch_removes_what_is_null(store: Store) -> None:
    entry = store.create(config_map("c", {"a": "1", "b": "2"}, namespace="default"))
    assert store.patch(entry, {"data": {"a": None, "c": "3"}}).obj["data"] == {"b": "2", "c": "3"}


def test_watchers_are_told_in_order_with_both_versions(store: Store) -> None:
    told: list[tuple[str, int, int | None]] = []
    store.watch(lambda change: told.append((change.type, change.entry.version, change.old and change.old.version)))
    entry = store.create(parent())
    entry = store.update({**entry.obj, "spec": {"a": 1}})
    store.delete(entry)
    assert told == [("ADDED", 1, None), ("MODIFIED", 2, 1), ("DELETED", 3, 2)]


def test_admission_changes_or_refuses_before_anything_is_stored(store: Store) -> None:
    def admission(operation: str, obj: Object, old: Any) -> Object:
        if obj["spec"].get("bad"):
            raise ApiError("denied")
        return {**obj, "spec": {**obj["spec"], "seen": operation}}

    store.admit(CRE, "WorkloadRun", admission)
    assert store.create(parent()).obj["spec"] == {"seen": "CREATE"}
    with pytest.raises(ApiError, match="denied"):
        store.update(parent(spec={"bad": True}))
    assert store.get(CRE, "WorkloadRun", "default", "run").obj["spec"] == {"seen": "CREATE"}


def test_writes_are_counted_by_actor_verb_and_kind_with_their_bytes(store: Store) -> None:
    entry = store.create(parent(), actor="me")
    store.update_status({**entry.obj, "status": {"a": 1}}, actor="me")
    store.delete(entry, actor="you")
    key = "WorkloadRun.cre.nvidia.com/v1alpha1"
    assert store.tally.requests == {
        ("me", "create", key): 1,
        ("me", "update_status", key): 1,
        ("you", "delete", key): 1,
    }
    assert store.tally.written_bytes["me", "create", key] == len(entry.json)


def test_equal_seeds_give_equal_names_and_uids() -> None:
    first, second, other = (Store(lambda: NOW, seed=seed).create(parent()).uid for seed in (1, 1, 2))
    assert first == second != other


def test_a_read_hands_out_the_very_object_that_is_stored(store: Store) -> None:
    entry = store.create(parent())
    assert store.get(CRE, "WorkloadRun", "default", "run").obj is entry.obj
