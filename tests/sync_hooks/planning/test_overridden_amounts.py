"""Extended resources after overrides: limit and request are the same, or the override is told that they are not."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import nodes
from tests.support.planned import DEMO, planned
from tests.support.runs import run_spec

GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"


def resources(**given: Any) -> dict[str, Any]:
    container = {"name": "node", "resources": given}
    job = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}
    return {
        "dependencies": [
            {
                "apiVersion": "trainer.kubeflow.org/v1alpha1",
                "kind": "TrainingRuntime",
                "metadata": {"name": "demo-runtime"},
                "spec": {"template": {"spec": {"replicatedJobs": [job]}}},
            }
        ]
    }


def per_node(**given: Any) -> dict[str, Any]:
    return {"jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": {"resourcesPerNode": given}}}}}}


def worker(*overrides: dict[str, Any]) -> Any:
    plan = planned(run_spec("torch", overrides=list(overrides)))
    [job] = plan.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    [container] = job["template"]["spec"]["template"]["spec"]["containers"]
    return container["resources"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([{"limits": {GPU: "4"}}], id="the limit"),
        pytest.param([{"requests": {GPU: 4}}], id="the request"),
        pytest.param([{"limits": {GPU: "4"}, "requests": {GPU: 4}}], id="both"),
        pytest.param([{"limits": {GPU: "2"}, "requests": {GPU: "2"}}, {"limits": {GPU: "4"}}], id="one after another"),
    ],
)
def test_of_gpus_the_request_is_the_limit_whichever_an_override_names(given):
    found = worker(*(resources(**one) for one in given))
    assert {str(found[part][GPU]) for part in ("limits", "requests")} == {"4"}
    assert {found[part][EFA] for part in ("limits", "requests")} == {"32"}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([{"limits": {EFA: None}}], id="the limit"),
        pytest.param([{"limits": {EFA: None}, "requests": {EFA: None}}], id="both"),
        pytest.param([{"limits": {EFA: 4}}, {"limits": {EFA: None}}], id="one after another"),
    ],
)
def test_a_limit_that_an_override_deletes_takes_its_request_along(given):
    found = worker(*(resources(**one) for one in given))
    assert EFA not in {**found["limits"], **found["requests"]}
    assert GPU in found["limits"].keys() & found["requests"].keys()


def test_what_may_be_overcommitted_stays_as_it_is_named():
    found = worker(resources(limits={"cpu": "8"}, requests={"cpu": "4"}))
    assert (found["limits"]["cpu"], found["requests"]["cpu"]) == ("8", "4")


@pytest.mark.parametrize(
    ("override", "place"),
    [
        pytest.param(resources(limits={EFA: 16}, requests={EFA: 8}), "containers[node].resources", id="runtime"),
        pytest.param(per_node(limits={EFA: 16}, requests={EFA: 8}), "trainer.resourcesPerNode", id="trainer"),
    ],
)
def test_an_override_that_names_two_amounts_of_what_must_be_the_same_is_refused(override, place):
    result = build(DEMO, run_spec("torch", overrides=[override]), nodes(4))
    assert isinstance(result, Unplannable)
    assert result.reason == "OverrideError"
    assert f"{place}: {EFA} has the limit 16 and the request 8, which must be the same" in result.message


def test_an_override_that_deletes_the_limit_and_names_a_request_is_refused():
    override = resources(limits={EFA: None}, requests={EFA: 8})
    result = build(DEMO, run_spec("torch", overrides=[override]), nodes(4))
    assert isinstance(result, Unplannable)
    assert f"{EFA} has no limit any more and the request 8, which must be the same" in result.message
