"""Plans and the Jobs and TrainJobs that come of them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity
from sync_hooks.planning.trainjob import render_train_job
from tests.support.nodes import nodes
from tests.support.runs import run_spec

DEMO = RunIdentity("demo", "default")
LONG = RunIdentity("a-very-long-name-of-a-run-that-nobody-would-want-to-type-twice", "default")


def planned(
    spec: WorkloadRunSpec | None = None, cluster: Sequence[Node] | None = None, identity: RunIdentity = DEMO
) -> Plan:
    """Plan a run that can be planned; by default a plain command on four nodes."""
    plan = build(identity, spec or run_spec(), cluster or nodes(4))
    assert isinstance(plan, Plan), plan
    return plan


def rendered_job(
    plan: Plan, group: int = 0, iteration: int = 1, retry: int = 0, identity: RunIdentity = DEMO
) -> dict[str, Any]:
    """Render a group's Job under a Workflow of the run's name."""
    return render_job(plan, identity, identity.name, group, iteration, retry)


def train_job_of(job: dict[str, Any], attempt: int = 0) -> dict[str, Any]:
    """Render a Job's TrainJob."""
    metadata = job["metadata"]
    return render_train_job(metadata["name"], metadata["namespace"], job["spec"], metadata["labels"], attempt)
