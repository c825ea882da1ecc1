"""What Metacontroller does with parents, children and answers, one behaviour a test."""

from __future__ import annotations

from cli.simulator.entry import Object, with_metadata
from cli.simulator.kinds import CORE, CRE
from tests.cli.simulator.cluster import Hooks, config_map, controller, live, parent, simulation, stub
from tests.cli.simulator.composites import (
    CONFIG_MAPS,
    KEY,
    LAST_APPLIED,
    RUN_KEY,
    RUNS,
    config_maps,
    maker,
    run_of,
    started,
    sync_errors,
    writes,
)


class TestChildren:
    """Creation, adoption, keeping and deletion."""

    def test_a_child_is_made_with_label_owner_and_the_annotation_that_repeats_it(self) -> None:
        cluster = started(maker("a"))
        child, run = config_maps(cluster)["a"], run_of(cluster)
        assert child.labels == {"controller-uid": run.uid}
        assert child.metadata["annotations"] == {
            LAST_APPLIED: '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap",'
            f'"metadata":{{"labels":{{"controller-uid":"{run.uid}"}},"name":"a","namespace":"default"}}}}'
        }
        assert child.metadata["ownerReferences"] == [
            {
                "apiVersion": CRE,
                "kind": "WorkloadRun",
                "name": "run",
                "uid": run.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    def test_owners_that_the_hook_gives_are_kept_before_the_parent(self) -> None:
        other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "blockOwnerDeletion": True}

        def hook(request: Object) -> Object:
            return {"children": [config_map("a", ownerReferences=[{**other, "uid": cluster_uid}])]}

        hooks = Hooks({"c": hook})
        cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)])
        cluster_uid = cluster.store.create(config_map("o", namespace="default")).uid
        run = cluster.store.create(parent())
        cluster.run(60)
        assert config_maps(cluster)["a"].owners == (cluster_uid, run.uid)
        assert config_maps(cluster)["a"].controller == run.uid

    def test_what_exists_is_never_updated_under_on_delete(self) -> None:
        def hook(request: Object) -> Object:
            return {"children": [config_map("a", {"calls": str(len(hooks.requests))})], "resyncAfterSeconds": 5}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, run=30)
        assert len(hooks.requests) > 3
        assert config_maps(cluster)["a"].obj["data"] == {"calls": "1"}
        assert writes(cluster, "update", KEY) == 0

    def test_what_exists_becomes_what_is_wanted_in_place_and_is_written_only_when_it_differs(self) -> None:
        def hook(request: Object) -> Object:
            return {"children": [config_map("a", {"half": str(len(hooks.requests) // 2)})], "resyncAfterSeconds": 5}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, definition=controller("c", RUNS, CONFIG_MAPS, method="InPlace"), run=42)
        child, half = config_maps(cluster)["a"], len(hooks.requests) // 2
        assert child.obj["data"] == {"half": str(half)}
        assert child.controller == run_of(cluster).uid
        assert writes(cluster, "update", KEY) == half

    def test_a_stub_in_place_takes_away_what_was_applied(self) -> None:
        cluster = started(maker("a"), definition=controller("c", RUNS, CONFIG_MAPS, method="InPlace"))
        assert "data" not in config_maps(cluster)["a"].obj

    def test_a_stub_keeps_a_child(self) -> None:
        cluster = started(maker("a", resyncAfterSeconds=5), run=30)
        assert config_maps(cluster)["a"].obj["data"] == {"a": "1"}
        assert writes(cluster, "delete", KEY) == 0

    def test_a_stub_of_something_that_is_not_there_is_created_as_it_is(self) -> None:
        cluster = started(Hooks({"c": lambda request: {"children": [stub(config_map("a"))]}}))
        assert "data" not in config_maps(cluster)["a"].obj

    def test_a_child_that_is_not_wanted_any_more_is_deleted(self) -> None:
        def hook(request: Object) -> Object:
            return {"children": [] if request["children"][KEY] else [config_map("a")]}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, run=0.2)
        assert writes(cluster, "create", KEY) >= 1
        assert writes(cluster, "delete", KEY) >= 1

    def test_a_child_that_leaves_already_is_not_deleted_again(self) -> None:
        held = config_map("a", finalizers=["f/hold"])
        answers = iter([{"children": [held]}])
        cluster = started(Hooks({"c": lambda request: next(answers, {"resyncAfterSeconds": 5})}))
        assert config_maps(cluster)["a"].deleting
        assert writes(cluster, "delete", KEY) <= 2  # once more while the cache did not know

    def test_an_empty_answer_deletes_every_child(self) -> None:
        answers = iter([{"children": [config_map("a"), config_map("b")]}])
        cluster = started(Hooks({"c": lambda request: next(answers, {})}))
        assert config_maps(cluster) == {}

    def test_a_foreign_object_of_the_name_is_left_alone_and_nobody_is_told(self) -> None:
        hooks = maker("a")
        cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)])
        cluster.store.create(config_map("a", {"mine": "1"}, namespace="default"))
        cluster.store.create(parent())
        cluster.run(60)
        assert config_maps(cluster)["a"].obj["data"] == {"mine": "1"}
        assert sync_errors(cluster) == []
        assert all(request["children"] == {KEY: {}} for request in hooks.sent("c"))

    def test_an_orphan_with_the_label_is_adopted(self) -> None:
        hooks = maker("a")
        cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)])
        run = cluster.store.create(parent())
        cluster.store.create(config_map("a", {"mine": "1"}, namespace="default", labels={"controller-uid": run.uid}))
        cluster.run(60)
        assert config_maps(cluster)["a"].controller == run.uid
        assert list(hooks.sent("c")[0]["children"][KEY]) == ["default/a"]

    def test_an_orphan_is_not_adopted_by_a_parent_that_leaves(self) -> None:
        hooks = maker("a")
        cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)])
        run = cluster.store.create(parent(finalizers=["f/hold"]))
        cluster.store.delete(run)
        cluster.store.create(config_map("a", namespace="default", labels={"controller-uid": run.uid}))
        cluster.run(60)
        assert config_maps(cluster)["a"].controller is None

    def test_a_child_that_lost_its_label_is_released(self) -> None:
        hooks = maker("a")
        cluster = started(hooks)
        cluster.store.update(with_metadata(config_maps(cluster)["a"].obj, labels=None))
        cluster.run(120)
        assert config_maps(cluster)["a"].controller is None
        assert hooks.sent("c")[-1]["children"] == {KEY: {}}

    def test_a_label_of_another_parent_fails_the_sync_before_anything_is_done(self) -> None:
        child = config_map("a", labels={"controller-uid": "somebody"})
        cluster = started(Hooks({"c": lambda request: {"status": {"a": 1}, "children": [child]}}))
        assert sync_errors(cluster) == [
            "Sync error: labels on desired child ConfigMap default/a don't match parent selector"
        ]
        assert config_maps(cluster) == {}
        assert "status" not in run_of(cluster).obj

    def test_children_of_kinds_that_were_not_declared_are_created_too(self) -> None:
        secret = {"apiVersion": CORE, "kind": "Secret", "metadata": {"name": "s"}}
        cluster = started(Hooks({"c": lambda request: {"children": [secret]}}))
        assert cluster.store.find(CORE, "Secret", "default", "s") is not None

    def test_a_child_may_even_be_made_in_another_namespace_until_the_collector_finds_it(self) -> None:
        secret = {"apiVersion": CORE, "kind": "Secret", "metadata": {"name": "s", "namespace": "other"}}
        cluster = started(Hooks({"c": lambda request: {"children": [secret]}}), run=0.5)
        assert cluster.store.find(CORE, "Secret", "other", "s") is not None
        cluster.run(60)
        assert cluster.store.find(CORE, "Secret", "other", "s") is None

    def test_a_kind_that_is_not_served_is_an_error_and_the_others_are_made(self) -> None:
        foreign = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}}
        cluster = started(Hooks({"c": lambda request: {"status": {"a": 1}, "children": [foreign, config_map("a")]}}))
        assert list(config_maps(cluster)) == ["a"]
        assert sync_errors(cluster) == [
            "Sync error: can't reconcile children for WorkloadRun default/run: "
            "discovery: can't find kind X in apiVersion x/v1"
        ]
        assert run_of(cluster).obj["status"] == {"a": 1, "observedGeneration": 1}

    def test_a_child_too_large_for_its_annotation_is_refused_for_ever(self) -> None:
        child = config_map("a", {"a": "x" * (256 << 10)})
        cluster = started(Hooks({"c": lambda request: {"children": [child]}}))
        assert "metadata.annotations: Too long" in sync_errors(cluster)[0]

    def test_a_child_that_went_is_told_and_made_again(self) -> None:
        cluster = started(maker("a"))
        first = config_maps(cluster)["a"]
        cluster.store.delete(first)
        cluster.run(120)
        assert config_maps(cluster)["a"].uid != first.uid

    def test_the_last_of_two_children_with_one_name_counts(self) -> None:
        children = [config_map("a", {"n": "1"}), config_map("a", {"n": "2"})]
        cluster = started(Hooks({"c": lambda request: {"children": children}}))
        assert config_maps(cluster)["a"].obj["data"] == {"n": "2"}


class TestStatus:
    """The status is the hook's, whole, and written only when it differs."""

    def test_it_is_replaced_whole_and_says_which_generation_it_is_about(self) -> None:
        cluster = started(maker(status={"new": [1]}), obj=parent())
        assert run_of(cluster).obj["status"] == {"new": [1], "observedGeneration": 1}
        cluster.store.update({**run_of(cluster).obj, "spec": {"a": 1}})
        cluster.run(120)
        assert run_of(cluster).obj["status"] == {"new": [1], "observedGeneration": 2}

    def test_no_status_at_all_still_says_the_generation(self) -> None:
        assert run_of(started(Hooks({"c": lambda request: {}}))).obj["status"] == {"observedGeneration": 1}

    def test_an_equal_status_is_not_written(self) -> None:
        cluster = started(maker(status={"a": 1}, resyncAfterSeconds=5), run=60)
        assert writes(cluster, "update_status", RUN_KEY) == 1

    def test_a_whole_float_is_written_at_every_sync(self) -> None:
        cluster = started(maker(status={"a": 300.0}, resyncAfterSeconds=5), run=60)
        assert writes(cluster, "update_status", RUN_KEY) > 5

    def test_a_null_fails_every_sync(self) -> None:
        cluster = started(maker(status={"a": None}))
        assert "can't update status for WorkloadRun default/run" in sync_errors(cluster)[0]

    def test_it_never_reaches_another_object_of_the_name(self) -> None:
        def hook(request: Object) -> Object:
            if request["parent"]["metadata"]["uid"] == first.uid:
                cluster.store.delete(first)
                cluster.store.create(parent(labels={"second": "true"}))
                return {"status": {"from": "first"}}
            return {"status": {"from": "second"}}

        hooks = Hooks({"c": hook})
        cluster = simulation(hooks, [controller("c", RUNS)])
        first = cluster.store.create(parent())
        seen: list[Object] = []
        cluster.store.watch(lambda change: seen.append(change.entry.obj), "WorkloadRun")
        cluster.run(60)
        assert run_of(cluster).obj["status"]["from"] == "second"
        assert "first" not in [obj.get("status", {}).get("from") for obj in seen]

    def test_it_overwrites_what_came_in_between(self) -> None:
        def hook(request: Object) -> Object:
            if len(hooks.requests) == 1:
                cluster.store.update_status({**run_of(cluster).obj, "status": {"other": True}})
            return {"status": {"mine": True}}

        hooks = Hooks({"c": hook})
        cluster = simulation(hooks, [controller("c", RUNS)])
        cluster.store.create(parent())
        cluster.run(60)
        assert run_of(cluster).obj["status"] == {"mine": True, "observedGeneration": 1}

    def test_the_next_sync_may_not_know_it_yet(self) -> None:
        hooks = maker("a", status={"a": 1})
        started(hooks)
        first, second = hooks.sent("c")[:2]
        assert list(second["children"][KEY]) == ["default/a"]
        assert "status" not in first["parent"]
        assert "status" not in second["parent"]


class TestFinalizing:
    """Finalizers, and who manages children while a parent goes."""

    def test_without_a_finalize_hook_there_is_no_finalizer(self) -> None:
        assert run_of(started(maker("a"))).finalizers == ()

    def test_with_one_every_parent_gets_it_before_the_first_call(self) -> None:
        hooks = maker("a")
        cluster = started(hooks, definition=controller("c", RUNS, CONFIG_MAPS, finalize=True))
        name = "metacontroller.io/compositecontroller-c"
        assert run_of(cluster).finalizers == (name,)
        assert hooks.sent("c")[0]["parent"]["metadata"]["finalizers"] == [name]

    def test_finalize_is_called_until_it_says_so_and_may_still_make_children(self) -> None:
        def hook(request: Object) -> Object:
            if not request["finalizing"]:
                return {"children": [config_map("a")]}
            known = request["children"][KEY]
            if "default/a" in known:
                return {"children": [config_map("b")]}
            return {"children": [], "finalized": not known}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, definition=controller("c", RUNS, CONFIG_MAPS, finalize=True))
        cluster.store.delete(run_of(cluster))
        cluster.run(120)
        assert live(cluster, "WorkloadRun", "run") is None
        assert config_maps(cluster) == {}
        seen = [sorted(request["children"][KEY]) for request in hooks.sent("c", "finalize")]
        assert ["default/a"] in seen
        assert ["default/b"] in seen

    def test_under_foreground_deletion_children_are_left_to_the_collector(self) -> None:
        def hook(request: Object) -> Object:
            return {"children": [config_map("a")] if not request["finalizing"] else [], "finalized": False}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, definition=controller("c", RUNS, CONFIG_MAPS, finalize=True))
        cluster.store.delete(run_of(cluster), propagation="Foreground")
        cluster.run(120)
        assert len(hooks.sent("c", "finalize")) > 0
        assert writes(cluster, "delete", KEY) == 0

    def test_a_leaving_parent_without_finalize_hook_is_synced_but_its_children_are_not_managed(self) -> None:
        hooks = maker("a", "b")
        cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)])
        run = cluster.store.create(parent(finalizers=["f/hold"]))
        cluster.store.delete(run)
        cluster.run(60)
        assert len(hooks.sent("c", "sync")) > 0
        assert config_maps(cluster) == {}

    def test_a_finalizer_of_a_controller_that_needs_none_is_removed(self) -> None:
        cluster = started(maker("a"), obj=parent(finalizers=["metacontroller.io/compositecontroller-c"]))
        assert run_of(cluster).finalizers == ()
