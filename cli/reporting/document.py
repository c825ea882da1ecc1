"""The report as one JSON document: the run as the API has it, and all that is told of its groups and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cli.group_view import GroupView
from cli.node_view import EXCLUDED, FAILED, INCONCLUSIVE, SUCCEEDED, UNKNOWN, NodeView
from cli.run_view import RunView

KEYS: Mapping[str, str] = {
    "workloadRun": "the WorkloadRun as the API has it; its verdict is `status.verdict`",
    "groups": "a list: `iteration`, `group`, `retry`, `job`, `nodes`, `state`; where there are any `trainJob`, "
    "`domains`, `reason`, `message`, `figures`, `started`, `ended`, `failedNodes`, `unmeasured`, `superseded`, "
    "`failureLog`, `bandwidth`, `goodput`",
    "nodes": "five lists: `succeeded`, `failed`, `inconclusive`, `unknown`, `excluded`; of each node its `name`, and "
    "where there are any `reason`, `message`, `domain`, `groups`, `figures`",
    "topologyKey": "where known: the node label that domains are told by",
    "warnings": "where there are any: what was noticed when the run was planned",
    "notKnown": "where there is any: what could not be read",
}
"""What the keys of the document mean, for the documentation."""

LISTS = (SUCCEEDED, FAILED, INCONCLUSIVE, UNKNOWN, EXCLUDED)


def document(run: Mapping[str, Any], seen: RunView) -> dict[str, Any]:
    """Build the document; ``run`` is the WorkloadRun as the API has it. Absent keys are unknown, never null."""
    return {
        "workloadRun": dict(run),
        "groups": [_group(group) for group in seen.groups],
        "nodes": {state: [_node(node) for node in seen.nodes if node.state == state] for state in LISTS},
        **({"topologyKey": seen.domain_key} if seen.domain_key else {}),
        **({"warnings": list(seen.warnings)} if seen.warnings else {}),
        **({"notKnown": list(seen.notes)} if seen.notes else {}),
    }


def _group(group: GroupView) -> dict[str, Any]:
    optional = {
        "trainJob": group.train_job,
        "domains": list(group.domains),
        "reason": group.reason,
        "message": group.detail,
        "figures": dict(group.figures),
        "started": group.started,
        "ended": group.ended,
        "failedNodes": list(group.blamed),
        "unmeasured": list(group.unmeasured),
        "superseded": group.superseded,
        "failureLog": msgspec.to_builtins(group.log) if group.log else None,
        "bandwidth": msgspec.to_builtins(group.bandwidth) if group.bandwidth else None,
        "goodput": msgspec.to_builtins(group.goodput) if group.goodput else None,
    }
    return {
        "iteration": group.key.iteration,
        "group": group.key.group,
        "retry": group.key.retry,
        "job": group.job,
        "nodes": list(group.nodes),
        "state": group.state,
        **{key: value for key, value in optional.items() if value},
    }


def _node(node: NodeView) -> dict[str, Any]:
    optional = {
        "reason": node.reason,
        "message": node.message,
        "domain": node.domain,
        "groups": list(node.groups),
        "figures": dict(node.figures),
    }
    return {"name": node.name, **{key: value for key, value in optional.items() if value}}
