"""What Metacontroller does with parents, children and answers, one behaviour a test."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from cli.simulator.entry import Entry, Object, with_metadata
from cli.simulator.kinds import COMPUTE_DOMAIN, CORE, CRE, TRAINER, Discovery
from cli.simulator.pace import Pace
from cli.simulator.protocol import HookResponse
from cli.simulator.simulation import Simulation, product_controllers
from tests.cli.simulator.cluster import Hooks, config_map, controller, live, parent, simulation, stub

CONFIG_MAPS = ((CORE, "configmaps"),)
KEY = "ConfigMap.v1"
LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
RUNS = (CRE, "workloadruns")


def maker(*names: str, status: Object | None = None, **answer: Any) -> Hooks:
    """Make ConfigMaps of these names, answered as stubs once they are there."""

    def hook(request: Object) -> Object:
        known = {child["metadata"]["name"] for child in request["children"].get(KEY, {}).values()}
        children = [stub(config_map(name)) if name in known else config_map(name, {"a": "1"}) for name in names]
        return {"status": status or {}, "children": children, **answer}

    return Hooks({"c": hook})


def started(hooks: Hooks, *, obj: Object | None = None, run: float = 60, **options: Any) -> Simulation:
    made = options.pop("definition", None) or controller("c", RUNS, CONFIG_MAPS)
    cluster = simulation(hooks, [made], **options)
    cluster.store.create(obj or parent())
    cluster.run(run)
    return cluster


def config_maps(cluster: Simulation) -> dict[str, Entry]:
    return {entry.name: entry for entry in cluster.store.select(CORE, "ConfigMap")}


def run_of(cluster: Simulation) -> Entry:
    return cluster.store.get(CRE, "WorkloadRun", "default", "run")


def sync_errors(cluster: Simulation) -> list[str]:
    events = cluster.store.select(CORE, "Event")
    return [entry.obj["message"] for entry in events if entry.obj["reason"] == "SyncError"]


def writes(cluster: Simulation, verb: str, kind: str) -> int:
    return cluster.store.tally.total(actor="metacontroller", verb=verb, kind=kind)


RUN_KEY = "WorkloadRun.cre.nvidia.com/v1alpha1"


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

    def test_what_exists_is_never_updated(self) -> None:
        def hook(request: Object) -> Object:
            return {"children": [config_map("a", {"calls": str(len(hooks.requests))})], "resyncAfterSeconds": 5}

        hooks = Hooks({"c": hook})
        cluster = started(hooks, run=30)
        assert len(hooks.requests) > 3
        assert config_maps(cluster)["a"].obj["data"] == {"calls": "1"}
        assert writes(cluster, "update", KEY) == 0

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


class TestSelection:
    """Which parents are a controller's."""

    SELECTOR: Object = {"labelSelector": {"matchLabels": {"cre.nvidia.com/devices": "true"}}}

    def test_the_label_selector_splits_parents(self) -> None:
        absent = {"matchExpressions": [{"key": "cre.nvidia.com/devices", "operator": "DoesNotExist"}]}
        hooks = Hooks({"with": lambda request: {}, "without": lambda request: {}})
        definitions = [
            controller("with", RUNS, parent_fields=self.SELECTOR),
            controller("without", RUNS, parent_fields={"labelSelector": absent}),
        ]
        cluster = simulation(hooks, definitions)
        cluster.store.create(parent("a", labels={"cre.nvidia.com/devices": "true"}))
        cluster.store.create(parent("b"))
        cluster.run(60)
        assert {request["parent"]["metadata"]["name"] for request in hooks.sent("with")} == {"a"}
        assert {request["parent"]["metadata"]["name"] for request in hooks.sent("without")} == {"b"}

    def test_a_parent_that_leaves_the_selector_is_finalized(self) -> None:
        hooks = Hooks({"c": lambda request: {"finalized": request["finalizing"]}})
        definition = controller("c", RUNS, finalize=True, parent_fields=self.SELECTOR)
        cluster = started(hooks, definition=definition, obj=parent(labels={"cre.nvidia.com/devices": "true"}))
        cluster.store.update(with_metadata(run_of(cluster).obj, labels=None))
        cluster.run(120)
        assert len(hooks.sent("c", "finalize")) == 1
        assert run_of(cluster).finalizers == ()

    def test_status_changes_are_ignored_when_asked_for(self) -> None:
        counts = []
        for ignore in (False, True):
            hooks = maker(status={"a": 1})
            started(hooks, definition=controller("c", RUNS, CONFIG_MAPS, parent_fields={"ignoreStatusChanges": ignore}))
            counts.append(len(hooks.requests))
        assert counts == [2, 1]

    @pytest.mark.parametrize(
        "change",
        [{"labels": {"a": "b"}}, {"annotations": {"a": "b"}}],
        ids=["labels", "annotations"],
    )
    def test_changes_of_metadata_are_not(self, change: Object) -> None:
        hooks = maker()
        cluster = started(hooks, definition=controller("c", RUNS, parent_fields={"ignoreStatusChanges": True}))
        cluster.store.update(with_metadata(run_of(cluster).obj, **change))
        cluster.run(120)
        assert len(hooks.requests) == 2


class TestTiming:
    """Resyncs, errors and back-off."""

    def calls_at(self, hooks: Hooks, cluster: Simulation, until: float) -> list[float]:
        times: list[float] = []
        call = hooks.by_name["c"]

        def timed(request: Object) -> Object | HookResponse:
            times.append(round(cluster.clock.time, 2))
            return call(request)

        hooks.by_name["c"] = timed
        cluster.store.create(parent())
        cluster.run(until)
        return times

    def cluster(self, hooks: Hooks, **spec: Any) -> Simulation:
        return simulation(hooks, [controller("c", RUNS, CONFIG_MAPS, **spec)], pace=Pace(0, 0, 1e12, 0, 0))

    def test_resync_after_seconds_is_honoured(self) -> None:
        hooks = maker(status={}, resyncAfterSeconds=12.5)
        times = self.calls_at(hooks, self.cluster(hooks), 40)
        assert times == [0.0, 0.0, 12.5, 25.0, 37.5]

    def test_the_earliest_wish_wins_and_events_cancel_none(self) -> None:
        answers = iter([{"resyncAfterSeconds": 30}, {"resyncAfterSeconds": 10}, {}, {}])
        hooks = Hooks({"c": lambda request: next(answers, {})})
        assert self.calls_at(hooks, self.cluster(hooks), 60) == [0.0, 0.0, 10.0]

    def test_periodic_resyncs_reach_parents_and_keep_nothing_alive(self) -> None:
        hooks = maker("a", resyncAfterSeconds=3600)
        cluster = self.cluster(hooks, resyncPeriodSeconds=120)
        times = self.calls_at(hooks, cluster, 300)
        assert times[-2:] == [120.0, 240.0]
        hooks = maker("a")
        cluster = self.cluster(hooks, resyncPeriodSeconds=120)
        self.calls_at(hooks, cluster, 1e6)
        assert cluster.clock.time < 1

    def test_periodic_resyncs_pass_the_filter_of_status_changes(self) -> None:
        hooks = Hooks({"c": lambda request: {"resyncAfterSeconds": 3600}})
        definition = controller("c", RUNS, resyncPeriodSeconds=120, parent_fields={"ignoreStatusChanges": True})
        cluster = simulation(hooks, [definition], pace=Pace(0, 0, 1e12, 0, 0))
        assert self.calls_at(hooks, cluster, 250) == [0.0, 120.0, 240.0]

    def test_429_is_asked_again_after_the_delay_and_is_no_error(self) -> None:
        answers = iter([HookResponse(429, b"busy", 7)] * 2)
        hooks = Hooks({"c": lambda request: next(answers, {})})
        cluster = self.cluster(hooks)
        assert self.calls_at(hooks, cluster, 60) == [0.0, 7.0, 14.0, 14.0]
        assert sync_errors(cluster) == []

    def test_429_without_a_delay_is_a_hot_loop(self) -> None:
        answers = iter([HookResponse(429)] * 500)
        hooks = Hooks({"c": lambda request: next(answers, {})})
        assert self.calls_at(hooks, self.cluster(hooks), 60)[:500] == [0.0] * 500

    @pytest.mark.parametrize(
        ("response", "said"),
        [
            (HookResponse(500, b"boom"), "unsupported status code: 500 body: boom"),
            (HookResponse(200, b""), "can't unmarshal webhookResponse"),
            (HookResponse(200, b"[]"), "can't unmarshal webhookResponse"),
            (HookResponse(200, b'{"status": {}, "events": []}'), "events"),
            (HookResponse(200, b'{"children": [{"metadata": {"name": "a"}}]}'), "Object 'Kind' is missing"),
            (HookResponse(200, b'{"children": {}}'), "can't unmarshal webhookResponse"),
        ],
        ids=["500", "nothing", "a-list", "an-unknown-key", "a-child-without-kind", "children-as-map"],
    )
    def test_an_unusable_answer_deletes_nothing_and_is_told_on_the_parent(
        self, response: HookResponse, said: str
    ) -> None:
        answers: list[Object | HookResponse] = [{"children": [config_map("a")]}, response, response]
        hooks = Hooks({"c": lambda request: answers.pop(0) if answers else {"children": [stub(config_map("a"))]}})
        cluster = started(hooks)
        assert list(config_maps(cluster)) == ["a"]
        assert said in sync_errors(cluster)[0]
        event = next(entry.obj for entry in cluster.store.select(CORE, "Event"))
        assert event["involvedObject"]["uid"] == run_of(cluster).uid
        assert event["count"] == 2

    def test_errors_back_off_and_are_counted_in_one_event(self) -> None:
        hooks = Hooks({"c": lambda request: HookResponse(500)})
        cluster = self.cluster(hooks)
        times = self.calls_at(hooks, cluster, 1700)
        assert [round(later - earlier, 2) for earlier, later in pairwise(times)][-2:] == [327.68, 655.36]
        assert len(sync_errors(cluster)) == 1

    def test_a_resync_that_was_asked_for_survives_an_error(self) -> None:
        foreign = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}}
        hooks = Hooks({"c": lambda request: {"children": [foreign], "resyncAfterSeconds": 100}})
        times = self.calls_at(hooks, self.cluster(hooks), 3000)
        assert max(round(later - earlier, 2) for earlier, later in pairwise(times)) == 100


class TestStarting:
    """Controllers that start, and that do not."""

    def test_a_missing_child_crd_stops_the_whole_controller_and_no_other(self) -> None:
        children = (*CONFIG_MAPS, (COMPUTE_DOMAIN.api_version, "computedomains"))
        hooks = Hooks({"c": lambda request: {}, "d": lambda request: {}})
        definitions = [controller("c", RUNS, children), controller("d", RUNS, CONFIG_MAPS)]
        cluster = simulation(hooks, definitions, discovery=Discovery().without(COMPUTE_DOMAIN))
        cluster.store.create(parent())
        cluster.run(60)
        assert {name for name, _, _ in hooks.requests} == {"d"}
        event = next(entry.obj for entry in cluster.store.select(CORE, "Event"))
        assert event["reason"] == "CreateError"
        assert "can't find resource computedomains in apiVersion resource.nvidia.com/v1beta1" in event["message"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"generateSelector": False}, "generateSelector"),
            ({"hooks": {"sync": {"version": "v1", "webhook": {}}}}, "only v2"),
            ({"hooks": {"sync": {"version": "v2"}, "customize": {"version": "v2"}}}, "customize"),
            ({"hooks": {"finalize": {"version": "v2"}}}, "no sync hook"),
            (
                {
                    "childResources": [
                        {"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}
                    ]
                },
                "InPlace is not supported",
            ),
        ],
        ids=["selector", "version", "customize", "sync", "strategy"],
    )
    def test_what_this_driver_does_not_do_is_refused(self, change: Object, said: str) -> None:
        definition = controller("c", RUNS, CONFIG_MAPS)
        definition["spec"] |= change
        cluster = simulation(Hooks({}), [definition])
        assert said in next(entry.obj["message"] for entry in cluster.store.select(CORE, "Event"))
        assert cluster.metacontroller.controllers == ()

    def test_the_controllers_of_the_product_start_where_every_kind_is_served(self) -> None:
        cluster = product()
        assert cluster.metacontroller.controllers == (
            "cre-bandwidthmeasurements",
            "cre-goodputmeasurements",
            "cre-jobs",
            "cre-jobs-devices",
            "cre-workflows",
            "cre-workloadruns",
        )

    def test_without_device_apis_only_the_controller_of_devices_does_not_start(self) -> None:
        cluster = product(Discovery().without(COMPUTE_DOMAIN))
        assert "cre-jobs-devices" not in cluster.metacontroller.controllers
        assert len(cluster.metacontroller.controllers) == 5


def product(discovery: Discovery | None = None) -> Simulation:
    return simulation(Hooks({}), list(product_controllers()), discovery=discovery)


def test_a_parent_is_worked_on_once_at_a_time_and_events_in_between_are_one_more_sync() -> None:
    hooks = maker("a")
    cluster = simulation(hooks, [controller("c", RUNS, CONFIG_MAPS)], pace=Pace(hook_seconds=10))
    cluster.store.create(parent())
    for second in range(1, 8):
        cluster.clock.schedule(second, lambda: touch(cluster))
    cluster.run(19)
    assert len(hooks.requests) == 2
    cluster.run(200)
    assert len(hooks.requests) <= 4


def touch(cluster: Simulation) -> None:
    run = run_of(cluster)
    cluster.store.update(with_metadata(run.obj, annotations={"touched": str(cluster.clock.time)}))


def test_train_jobs_are_a_kind_of_child_like_any_other() -> None:
    hooks = Hooks({"c": lambda request: {}})
    started(hooks, definition=controller("c", RUNS, ((TRAINER, "trainjobs"),)))
    assert hooks.sent("c")[0]["children"] == {"TrainJob.trainer.kubeflow.org/v1alpha1": {}}
