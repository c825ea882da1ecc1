"""The driver on the real API server treats hooks as Metacontroller does: children, status, back-off, credentials."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.driver import DRIVER, Driver
from tests.cluster.hook_server import HookServer, serving

GROUP = "tests.cre.nvidia.com"


@pytest.fixture
def server(cluster: Cluster) -> Iterator[HookServer]:
    with serving(cluster.authority.issue("hooks", "hooks", hosts=["hooks.cre"])) as hooks:
        yield hooks


@pytest.fixture
def driver(cluster: Cluster, server: HookServer) -> Iterator[Driver]:
    cluster.apply(widgets(), token("first"), composite_controller(cluster, "first"))
    cluster.kubectl.wait_for_definitions(f"widgets.{GROUP}")
    with Driver(cluster.kubeconfig, {"hooks.cre": f"127.0.0.1:{server.port}"}, name="of-widgets") as running:
        yield running
    cluster.kubectl("delete", "compositecontroller", "widgets")


def widgets() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def widget(name: str) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}}


def token(value: str) -> dict[str, Any]:
    data = {value: base64.b64encode(value.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"token-{value}"}, "data": data}


def composite_controller(cluster: Cluster, token_name: str, *hooks: str) -> dict[str, Any]:
    secret = {"name": f"token-{token_name}", "namespace": cluster.namespace, "key": token_name}
    service = {"name": "hooks", "namespace": "cre", "port": 443, "protocol": "https"}
    trust = {"caBundle": {"inline": cluster.authority.certificate.read_text()}}
    return {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "CompositeController",
        "metadata": {"name": "widgets", "labels": {DRIVER: "of-widgets"}},
        "spec": {
            "generateSelector": True,
            "parentResource": {"apiVersion": f"{GROUP}/v1", "resource": "widgets"},
            "childResources": [
                {"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "OnDelete"}}
            ],
            "hooks": {
                hook: {
                    "version": "v2",
                    "webhook": {
                        "service": service,
                        "path": f"/{hook}",
                        **trust,
                        "authorization": {"secretRef": secret},
                    },
                }
                for hook in ("sync", *hooks)
            },
        },
    }


def one_config_map(path: str, request: dict[str, Any]) -> dict[str, Any]:
    name = request["parent"]["metadata"]["name"]
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": name}}
    return {"status": {"seen": len(request["children"]["ConfigMap.v1"])}, "children": [child]}


def seen(cluster: Cluster, name: str) -> dict[str, Any]:
    status: dict[str, Any] = cluster.kubectl.get("widget", name).get("status", {})
    return status


def test_children_are_made_and_observed_and_the_status_is_written(
    cluster: Cluster, server: HookServer, driver: Driver
) -> None:
    server.answer = one_config_map
    cluster.apply(widget("one"))
    cluster.eventually(lambda: seen(cluster, "one") == {"seen": 1, "observedGeneration": 1})
    child = cluster.kubectl.get("configmap", "one")
    [owner] = child["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Widget", "one", True)
    assert child["data"] == {"of": "one"}


def test_what_is_as_it_should_be_is_left_alone(cluster: Cluster, server: HookServer, driver: Driver) -> None:
    server.answer = one_config_map
    cluster.apply(widget("one"))
    cluster.eventually(lambda: seen(cluster, "one").get("seen") == 1)
    version = version_of(cluster)
    cluster.eventually(lambda: is_quiet(server, QUIET_SECONDS))  # what it wrote itself may come back to it late
    assert version_of(cluster) == version
    assert len(server.calls) < MOST_CALLS


QUIET_SECONDS = 4.0
MOST_CALLS = 30  # for one child and two changes of the status: a loop makes hundreds


def version_of(cluster: Cluster) -> str:
    version: str = cluster.kubectl.get("widget", "one")["metadata"]["resourceVersion"]
    return version


def is_quiet(server: HookServer, seconds: float) -> bool:
    """Tell whether no call comes within the next seconds."""
    before = len(server.calls)
    time.sleep(seconds)
    return len(server.calls) == before


def test_a_hook_that_is_busy_is_asked_again_when_it_said(cluster: Cluster, server: HookServer, driver: Driver) -> None:
    server.answer = lambda path, request: 429 if len(server.calls) < 3 else one_config_map(path, request)
    cluster.apply(widget("one"))
    cluster.eventually(lambda: seen(cluster, "one").get("seen") == 1)
    assert driver.traffic.errors["widgets"] == 2


def test_a_token_that_is_refused_becomes_an_event_on_the_parent(
    cluster: Cluster, server: HookServer, driver: Driver
) -> None:
    server.tokens = {"second"}
    cluster.apply(widget("one"))
    [event, *_] = cluster.eventually(lambda: cluster.kubectl.list("events", "--field-selector=reason=SyncError"))
    assert "unsupported status code: 401" in event["message"]
    assert cluster.kubectl.find("configmap", "one") is None


def test_a_new_spec_makes_the_driver_read_the_new_token(cluster: Cluster, server: HookServer, driver: Driver) -> None:
    server.answer = one_config_map
    server.tokens = {"second"}
    cluster.apply(widget("one"), token("second"))
    cluster.eventually(lambda: server.calls)
    cluster.apply(composite_controller(cluster, "second"))
    cluster.eventually(lambda: seen(cluster, "one").get("seen") == 1)


def test_a_parent_with_a_finalize_hook_stays_until_its_children_are_gone(
    cluster: Cluster, server: HookServer, driver: Driver
) -> None:
    def answer(path: str, request: dict[str, Any]) -> dict[str, Any]:
        if path == "/sync":
            return one_config_map(path, request)
        return {"children": [], "finalized": not request["children"]["ConfigMap.v1"]}

    server.answer = answer
    cluster.apply(composite_controller(cluster, "first", "finalize"), widget("one"))
    cluster.eventually(lambda: seen(cluster, "one").get("seen") == 1)
    assert cluster.kubectl.get("widget", "one")["metadata"]["finalizers"] == [
        "metacontroller.io/compositecontroller-widgets"
    ]
    cluster.kubectl("delete", "widget", "one", "--wait=false")
    cluster.eventually(lambda: cluster.kubectl.find("widget", "one") is None)
    assert cluster.kubectl.find("configmap", "one") is None
    assert server.calls.count("/finalize") >= 2
