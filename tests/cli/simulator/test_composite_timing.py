"""Which parents Metacontroller works on, when, and what it refuses to start."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from cli.simulator.entry import Object, with_metadata
from cli.simulator.kinds import COMPUTE_DOMAIN, CORE, TRAINER, Discovery
from cli.simulator.pace import Pace
from cli.simulator.protocol import HookResponse
from cli.simulator.simulation import Simulation, product_controllers
from tests.cli.simulator.cluster import Hooks, config_map, controller, parent, simulation, stub
from tests.cli.simulator.composites import (
    CONFIG_MAPS,
    RUNS,
    config_maps,
    maker,
    run_of,
    started,
    sync_errors,
)


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
                        {"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "Recreate"}}
                    ]
                },
                "Recreate is not supported",
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
