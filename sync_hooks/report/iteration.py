"""An iteration's result: one write-once ConfigMap, from which verdicts and figures are computed at the end."""

from __future__ import annotations

import base64
import gzip
from functools import lru_cache
from typing import Any

import msgspec

from sync_hooks.api.observed import Facts
from sync_hooks.api.request import ConfigMapChild, FailedNodeFacts

RESULT_KEY = "result.json.gz"
LEVEL = 6  # of gzip: 9 makes it a tenth smaller, and takes more than twice as long, in a sync that reads 12 MB already
RANKS_APART = "RanksApart"
"""Reason of a validation that failed because another test ran than the one that was asked for."""


class GroupResult(Facts, frozen=True):
    """What one group came to in one iteration."""

    group: int = 0
    retry: int = 0
    failure: str = ""
    """Reason and message of the failure; empty for a group that ended well."""
    failure_reason: str = ""
    hardware: bool = False
    validation: str = ""
    validation_reason: str = ""
    attribution: str = ""
    failed_nodes: tuple[FailedNodeFacts, ...] = ()
    nodes: tuple[str, ...] = ()
    """Nodes that the scheduler chose; empty where the plan names them."""
    figures: dict[str, float] = {}
    unmeasured: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""


class IterationResult(Facts, frozen=True):
    """What every group came to in one iteration, in order of their numbers."""

    iteration: int = 0
    groups: tuple[GroupResult, ...] = ()


def compress(value: Any) -> str:
    """Write a value as base64 of gzip of JSON, the same value always as the same text."""
    content = msgspec.json.encode(value, order="sorted")
    return base64.b64encode(gzip.compress(content, compresslevel=LEVEL, mtime=0)).decode()


def read_result(config_map: ConfigMapChild) -> IterationResult | None:
    """Read a result back; None where somebody has tampered with it."""
    return _decode(config_map.binary_data.get(RESULT_KEY, ""))


@lru_cache(maxsize=64)  # the same text comes with every sync of the Workflow
def _decode(text: str) -> IterationResult | None:
    try:
        return msgspec.json.decode(gzip.decompress(base64.b64decode(text)), type=IterationResult)
    except (OSError, EOFError, ValueError):
        return None
