"""What a tenant can reach through a run: its own namespace, nodes by name, and nothing by clever text.

Each test holds a sentence of docs/threat-model.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path as File
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
import yaml

from cli.hooking import admission, hooks
from cli.inputs import shipped_profiles
from cli.simulate import START
from cli.simulator.inventory import make
from cli.simulator.scenario import Scenario
from cli.simulator.simulation import HookContext, Simulation
from sync_hooks.api.sync import GetObject, ListObjects, Read
from sync_hooks.measurements.pattern import compile_pattern, hits
from sync_hooks.measurements.thresholds import evaluate
from tests.support.hooks import NAMESPACE, NOW, live, manifest
from webhook.answering import HOOKS, PARENTS, answer
from webhook.apiserver import Path

EXAMPLES = File(__file__).parents[2] / "examples"
CLUSTER_WIDE = frozenset({"Namespace", "Node", "LogProfile"})
RUNS_OF_ALL = ListObjects("cre.nvidia.com/v1alpha1", "Workflow")
"""Which runs hold nodes already; of them the plans are read."""


def played(file: str) -> tuple[str, list[Read]]:
    """Run an example in memory, and return its verdict and everything that the hooks read."""
    asked: list[Read] = []

    def watched(context: HookContext) -> Any:
        def read(wanted: Read) -> Any:
            asked.append(wanted)
            return context.read(wanted)

        return hooks(HookContext(read, context.now, context.record))

    simulation = Simulation(make("aws/h100x8"), Scenario(()), watched, START)
    run = yaml.safe_load((EXAMPLES / file).read_text())
    run["metadata"]["namespace"] = "tenant"
    simulation.apply([*shipped_profiles(), run], admission)

    def status() -> dict[str, Any]:
        found = simulation.store.get(run["apiVersion"], "WorkloadRun", "tenant", run["metadata"]["name"]).obj
        return found.get("status") or {}

    simulation.run(1e6, lambda: bool(status().get("verdict")))
    return status()["verdict"], asked


@pytest.mark.parametrize(
    "file", ["nccl-all-reduce-bandwidth.yaml", "torch-checkpoints.yaml", "torch-training.yaml", "exec-command.yaml"]
)
def test_a_whole_run_reads_its_own_namespace_and_what_belongs_to_nobody(file: str) -> None:
    _, asked = played(file)
    assert len(asked) > 20
    outside = {
        read
        for read in asked
        if read != RUNS_OF_ALL
        and any(field.name == "namespace" for field in fields(read))
        and read.namespace != "tenant"  # type: ignore[union-attr]
        and not (isinstance(read, GetObject | ListObjects) and read.kind in CLUSTER_WIDE)
    }
    assert outside == set()


def forged(value: Any) -> Iterator[Any]:
    """Put a namespace beside every name in an object."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict) and "name" in item:
                yield {**value, key: {**item, "namespace": "elsewhere"}}
            for changed in forged(item):
                yield {**value, key: changed}


MEASUREMENT = {"jobRef": {"kind": "Job", "name": "victim"}, "testType": "all_reduce", "logProfileRef": "nccl-bandwidth"}
JOB = {"workload": {"trainJob": {"runtimeRef": {"name": "victim", "kind": "TrainingRuntime"}}}}


@pytest.mark.parametrize(
    ("controller", "spec"),
    [
        pytest.param("cre-bandwidthmeasurements", spec, id=f"measurement {number}")
        for number, spec in enumerate(forged(MEASUREMENT))
    ]
    + [pytest.param("cre-jobs", spec, id=f"job {number}") for number, spec in enumerate(forged(JOB))],
)
def test_a_parent_that_names_another_namespace_reads_its_own(controller: str, spec: dict[str, Any]) -> None:
    parent = manifest(PARENTS[controller], "forged", spec=spec)
    stored = live(parent)
    asked: list[Read] = []

    def read(wanted: Read) -> Any:
        asked.append(wanted)
        return stored if isinstance(wanted, GetObject) and wanted.name == "forged" else None

    body = msgspec.json.encode({"parent": parent, "children": {}, "finalizing": False})
    response = answer(controller, "sync", body, read, NOW)
    assert (controller, "sync") in HOOKS
    assert response.status in (200, 429)
    assert {getattr(wanted, "namespace", NAMESPACE) for wanted in asked} <= {NAMESPACE, ""}
    assert b"elsewhere" not in json.dumps(json.loads(response.body).get("children", [])).encode()


NESTED = "value > 0.0"
for _depth in range(20):
    NESTED = f"[1,2,3,4,5,6,7,8,9,0].all(x{_depth}, {NESTED})"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(NESTED, id="ten to the twentieth steps"),
        pytest.param("(" * 300 + "value > 1.0" + ")" * 300, id="three hundred brackets"),
        pytest.param("value > " + "1+" * 450 + "1", id="a sum of 451 numbers"),
        pytest.param(f"'{'a' * 900}!'.matches('^(a+)+$')", id="a pattern that backtracks for ever elsewhere"),
    ],
)
def test_an_expression_that_could_take_for_ever_ends_as_a_violation(expression: str) -> None:
    [violation] = evaluate({"busBandwidthGBps": expression}, {"busBandwidthGBps": 300.0})
    assert violation.reason in ("InvalidThresholdExpression", "ThresholdViolated")


def test_a_pattern_that_could_take_for_ever_reads_a_log_to_its_end() -> None:
    pattern = compile_pattern("^(?P<step>(a|a)*)*$")
    assert not isinstance(pattern, str)
    log = b"a" * 100_000 + b"!\n" + b"a" * 10 + b"\n"
    assert [hit.text("step") for hit in hits(pattern, log)] == [b"a" * 10]


@pytest.mark.parametrize(
    "name",
    [
        "../../elsewhere/jobs/victim",
        "..",
        ".",
        "victim/log?container=x",
        "victim#part",
        "victim HTTP/1.1\r\nHost: x\r\n\r\nGET /api/v1/secrets",
        "victim%2f..%2f",
    ],
)
def test_a_name_stays_one_part_of_a_path(name: str) -> None:
    url = Path("cre.nvidia.com/v1alpha1", "jobs", "tenant", name).url()
    folder, _, last = url.rpartition("/")
    assert folder == "/apis/cre.nvidia.com/v1alpha1/namespaces/tenant/jobs"
    assert unquote(last) == name
    assert last not in (".", "..")
    assert not set(last) & set(" ?#\r\n")
