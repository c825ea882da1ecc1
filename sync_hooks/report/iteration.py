"""An iteration's result: one write-once ConfigMap, from which verdicts and figures are computed at the end."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from sync_hooks.api.errors import cut
from sync_hooks.api.limits import LARGEST_OBJECT_BYTES
from sync_hooks.api.memo import Memo, size_of
from sync_hooks.api.observed import Facts
from sync_hooks.api.packed import unpack_as
from sync_hooks.api.request import ConfigMapChild, FailedNodeFacts
from sync_hooks.report.fitting import BRIEF, fitting, shortened

RESULT_KEY = "result.json.gz"
LEVEL = 6  # of gzip: 9 makes it a tenth smaller, and takes more than twice as long, in a sync that reads 12 MB already
LEAST = 16  # characters of a remark that are left in any case: that there is one changes what is said of the run
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
    earlier: tuple[FailedNodeFacts, ...] = ()
    """Nodes that earlier tries of the group blamed by name."""
    nodes: tuple[str, ...] = ()
    """Node of each worker, in order of the workers; empty where that is not known."""
    figures: dict[str, float] = {}
    unmeasured: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""


class IterationResult(Facts, frozen=True):
    """What every group came to in one iteration, in order of their numbers."""

    iteration: int = 0
    groups: tuple[GroupResult, ...] = ()


_RESULTS: Memo[IterationResult] = Memo(32 << 20)
"""A result is read again while its iteration ends, and when the run ends."""


def result_payload(result: IterationResult, room: int = LARGEST_OBJECT_BYTES) -> str:
    """Write a result so that it can be stored, with texts as long as there is room for in so many bytes."""
    return fitting(lambda most: _written(IterationResult(result.iteration, _cut(result.groups, most))), LEVEL, room)


def _written(result: IterationResult) -> bytes:
    return msgspec.json.encode(result, order="sorted")


def _cut(groups: Sequence[GroupResult], most: int) -> tuple[GroupResult, ...]:
    shorter = [_cut_texts(group, most) if _says(group) else group for group in groups]
    return tuple(_without_details(shorter) if most <= BRIEF else shorter)


def _says(group: GroupResult) -> bool:
    """Tell whether there is any text to cut: most of thousands of groups pass, and say nothing."""
    return bool(
        group.failure or group.validation or group.failed_nodes or group.earlier or group.unmeasured or group.remarks
    )


def _cut_texts(group: GroupResult, most: int) -> GroupResult:
    return msgspec.structs.replace(
        group,
        failure=shortened(group.failure, most, group.failure_reason or "failed"),
        validation=shortened(group.validation, most, group.validation_reason or "failed"),
        failed_nodes=_cut_nodes(group.failed_nodes, most),
        earlier=_cut_nodes(group.earlier, most),
        unmeasured=tuple([cut(text, max(most, LEAST)) for text in group.unmeasured]),
        remarks=tuple([cut(text, max(most, LEAST)) for text in group.remarks]),
    )


def _without_details(groups: Sequence[GroupResult]) -> Iterator[GroupResult]:
    """Leave out most of the digits, and the times but for the first and the last: of thousands they take most room."""
    first = min((group.started for group in groups if group.started), default="")
    last = max((group.ended for group in groups), default="")
    for group in groups:
        yield msgspec.structs.replace(
            group,
            figures={key: float(f"{value:.4g}") for key, value in group.figures.items()},
            started=group.started if group.started == first else "",
            ended=group.ended if group.ended == last else "",
        )


def _cut_nodes(nodes: Sequence[FailedNodeFacts], most: int) -> tuple[FailedNodeFacts, ...]:
    return tuple([FailedNodeFacts(node.name, node.reason, shortened(node.message, most)) for node in nodes])


def read_result(config_map: ConfigMapChild) -> IterationResult | None:
    """Read a result back; None where somebody has tampered with it."""
    key = digest(config_map)
    known = _RESULTS.get(key)
    if known is not None:
        return known
    found = _read(config_map.binary_data.get(RESULT_KEY, ""))
    return found and _RESULTS.keep(key, found, size_of(found))


def _read(text: str) -> IterationResult | None:
    try:
        result = unpack_as(IterationResult, base64.b64decode(text))
    except ValueError:
        return None
    return result if all(group.group == number for number, group in enumerate(result.groups)) else None


def digest(config_map: ConfigMapChild) -> str:
    """Return the hexadecimal SHA-256 of a result as it is stored: one that differs is another."""
    return hashlib.sha256(config_map.binary_data.get(RESULT_KEY, "").encode()).hexdigest()
