"""The status of an object that cannot be understood: it or a child has a shape that the API server should not let in.

What has ended stays as it is: a verdict is not taken back for a child that somebody broke afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import COMPLETE, FAILED, SUCCEEDED, is_true, set_exclusive
from sync_hooks.api.status import read_status
from sync_hooks.api.time import rfc3339
from sync_hooks.api.workflow import WorkflowStatus

INVALID_OBJECT = "InvalidObject"
TIMED = ("WorkloadRun", "Workflow")
"""Kinds that say when they ended; what a run leaves behind goes some time after it."""


def refused(kind: str, status: Any, problem: str, now: datetime) -> dict[str, Any]:
    """Return the status of an object of ``kind`` that fails for ``problem``, one line; ``status`` is the one it has."""
    known: dict[str, Any] = dict(status) if isinstance(status, Mapping) else {}
    conditions = read_status(WorkflowStatus, known).conditions or ()  # they are alike in every kind
    judged = kind != "Job" or bool(known.get("settled")) or is_true(conditions, FAILED)
    if judged and is_true(conditions, SUCCEEDED, FAILED, COMPLETE):
        return {**known, **_let_go(kind, known)}
    message = f"the object cannot be understood: {problem}"
    failed = [item.to_dict() for item in set_exclusive(conditions, FAILED, INVALID_OBJECT, message, now)]
    verdict = {"verdict": "Failed", "verdictReasons": [f"{INVALID_OBJECT}: {message}"]} if kind == "WorkloadRun" else {}
    rest = {key: value for key, value in known.items() if key != "waiting"}
    ended = {"completionTime": known.get("completionTime") or rfc3339(now)} if kind in TIMED else {}
    return {**rest, "conditions": failed, **verdict, **ended, **_let_go(kind, known)}


def _let_go(kind: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Let the Workflow of a Job go on: nothing will ever be found out about it."""
    if kind != "Job":
        return {}
    return {"settled": True, "drained": True, "attribution": known.get("attribution", "None")}
