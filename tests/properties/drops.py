"""What an answer lets go of: children that it no longer names are deleted before its status is written, if it ever is.

So whatever is found out from a child must stand in the API, not only in a cache or in the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cli.simulator.entry import Entry, Object
from sync_hooks.api.names import job_key
from tests.properties.plays import NAMESPACE, Performance


def check_drops(performance: Performance, request: Object, answered: bytes) -> None:
    """Check every child that an answer drops and that is still there."""
    if request.get("finalizing"):
        return  # the parent is going, and everything with it
    parent = request["parent"]
    live = performance.find(parent["kind"], parent["metadata"]["name"]) or {}
    if live.get("metadata", {}).get("uid") != parent["metadata"]["uid"] or "deletionTimestamp" in live["metadata"]:
        return
    for child in _dropped(performance, request, json.loads(answered)):
        CHECKS.get((parent["kind"], child.kind.kind), _check_never)(live.get("status") or {}, child)


def _dropped(performance: Performance, request: Object, response: Object) -> Iterator[Entry]:
    named = {(child["kind"], child["metadata"]["name"]) for child in response["children"]}
    for children in request["children"].values():
        for child in children.values():
            kind, name = child["kind"], child["metadata"]["name"]
            entry = performance.store.find(child["apiVersion"], kind, NAMESPACE, name)
            if (kind, name) not in named and entry is not None and entry.uid == child["metadata"]["uid"]:
                yield entry


def _check_job(workflow: Object, job: Entry) -> None:
    """A Job goes when its iteration's result has been noted, or when the run has failed and nobody will judge it.

    One that has ended keeps what it found where a run failed halfway. No play has a retention.
    """
    status, key = job.obj.get("status") or {}, job_key(job.name)
    if is_true(status, "Succeeded", "Failed"):
        noted = key is not None and key.iteration <= len(workflow.get("iterations") or ())
        assert noted, f"Job {job.name} has ended, and what it found goes with it"
        assert status.get("settled"), f"Job {job.name} is dropped before it is settled"
        assert status.get("drained"), f"Job {job.name} is dropped before it has released its nodes"
    else:
        assert is_true(workflow, "Failed"), f"Job {job.name} is dropped while it is under way"


def _check_train_job(job: Object, train_job: Entry) -> None:
    """A TrainJob goes when its Job has failed and is settled, or has gone on to another attempt."""
    earlier = int(train_job.name.rpartition("-w")[2]) < (job.get("attempt") or 0)
    judged = is_true(job, "Failed") and job.get("settled")
    assert earlier or judged, f"TrainJob {train_job.name} is dropped before the API knows what it came to"


def _check_never(parent: Object, child: Entry) -> None:
    raise AssertionError(f"{child.kind.kind} {child.name} is dropped while {parent} stands")


def is_true(status: Object, *types: str) -> bool:
    """Tell whether one of the conditions is true in a status."""
    return any(item["type"] in types and item["status"] == "True" for item in status.get("conditions") or ())


CHECKS: dict[tuple[str, str], Any] = {("Workflow", "Job"): _check_job, ("Job", "TrainJob"): _check_train_job}
