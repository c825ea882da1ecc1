"""The examples that people start from: every run in them can be planned on the nodes in them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, RunIdentity

EXAMPLES = Path(__file__).parents[3] / "examples"
RUNS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES.glob("*.yaml"))}
RUNS = {name: run for name, run in RUNS.items() if run["kind"] == "WorkloadRun"}


def plan(run, inventory):
    items = yaml.safe_load((EXAMPLES / "nodes" / f"{inventory}.yaml").read_text())["items"]
    spec = WorkloadRunSpec.model_validate(RUNS[run]["spec"])
    result = build(
        RunIdentity(RUNS[run]["metadata"]["name"], "default"), spec, [msgspec.convert(item, Node) for item in items]
    )
    assert isinstance(result, Plan), result
    return result


@pytest.mark.parametrize("run", RUNS)
def test_an_example_covers_all_nodes_of_a_sound_cluster(run):
    planned = plan(run, "aws-h100x8")
    assert (planned.platform, planned.architecture, planned.gpus_per_node) == ("aws", "h100", 8)
    assert (planned.targeted, planned.exclusions) == (8, ())


@pytest.mark.parametrize("run", RUNS)
def test_an_example_names_the_nodes_that_do_not_fit(run):
    planned = plan(run, "aws-mixed")
    assert {name.partition(".")[0]: reason for name, reason in planned.exclusions} == {
        "ip-10-0-1-12": "cordoned",
        "ip-10-0-1-14": "GPUs missing: 7 of its 8 are allocatable",
        "ip-10-0-1-17": "architecture l40s, the run is h100",
        "ip-10-0-1-18": "architecture l40s, the run is h100",
    }
    assert sum(len(group.nodes) - len(group.lent) for group in planned.groups) == 4


def test_the_examples_are_there():
    assert {"nccl-all-reduce", "nccl-all-reduce-bandwidth", "torch-training", "exec-command"} <= RUNS.keys()
