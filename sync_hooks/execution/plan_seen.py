"""The plan as a Workflow finds it: read back, compared with its hash, and what it says of the nodes written down."""

from __future__ import annotations

import base64
from typing import Any

from sync_hooks.api.memo import Memo, size_of
from sync_hooks.api.request import ConfigMapChild
from sync_hooks.api.results import AppliedOverride, Coverage, ExcludedNode
from sync_hooks.api.workflow import PlanReference, WorkflowStatus
from sync_hooks.planning.plan import PLAN_KEY, Plan, decode, sha256

MOST_EXCLUDED = 50  # of the status; the plan has them all

_PLANS: Memo[tuple[Plan | None, str]] = Memo(64 << 20)  # the same plan comes with every sync of the Workflow


def read_plan(stored: ConfigMapChild, noted: str = "") -> tuple[Plan | None, str]:
    """Return the plan and its hash; no plan where it is not readable, or is not the one whose hash was ``noted``."""
    content = stored.binary_data.get(PLAN_KEY, "")
    key = (sha256(noted.encode()), sha256(content.encode()))  # of each: what comes of one is never that of another
    known = _PLANS.get(key)
    if known is not None:
        return known
    found = _read(content, noted)
    return _PLANS.keep(key, found, size_of(found))


def _read(content: str, noted: str) -> tuple[Plan | None, str]:
    try:
        packed = base64.b64decode(content)
        digest = sha256(packed)
        return (decode(packed), digest) if noted in ("", digest) else (None, digest)
    except ValueError:
        return None, ""


def note_plan(status: WorkflowStatus, name: str, digest: str, plan: Plan) -> WorkflowStatus:
    """Write down which plan is followed: from now on no other is, and none is made."""
    marker = PlanReference(name=name, sha256=digest, version=plan.version)
    return status.model_copy(update={**plan_facts(plan), "plan": marker, "waiting": None})


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the fields of the status that a plan tells.

    Written when the plan is made, for people, and again when it is seen: the first may have been lost with its answer.
    """
    excluded = [ExcludedNode(name=name, reason=reason) for name, reason in plan.exclusions[:MOST_EXCLUDED]]
    return {
        "detected_platform": plan.platform,
        "detected_gpu_architecture": plan.architecture,
        "resolved_gpus_per_node": plan.gpus_per_node,
        "coverage": Coverage(targeted=plan.targeted, tested=0, excluded=len(plan.exclusions), inconclusive=0),
        "excluded_nodes": excluded or None,
        "applied_overrides": [AppliedOverride.model_validate(row) for row in plan.applied_overrides] or None,
        "warnings": list(plan.warnings) or None,
    }
