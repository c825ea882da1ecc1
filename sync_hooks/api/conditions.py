"""Conditions as values: set one, exclusive or additive, and keep the time of the last transition true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from sync_hooks.api.errors import cut
from sync_hooks.api.model import LONGEST_MESSAGE, Condition
from sync_hooks.api.time import rfc3339

IN_PROGRESS = "InProgress"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
VALIDATION_FAILED = "ValidationFailed"
HARDWARE_FAILED = "HardwareFailed"
MEASURING = "Measuring"
COMPLETE = "Complete"

INVALID_SPEC = "InvalidSpec"  # the reason of every kind whose spec cannot be understood

EXCLUSIVE = (IN_PROGRESS, SUCCEEDED, FAILED)
SUPERSEDED = "Superseded"  # reason of an exclusive condition that another one replaced


class ConditionLike(Protocol):
    """A condition of our models or one decoded from the API."""

    @property
    def type(self) -> str:
        """Kind of the condition."""

    @property
    def status(self) -> str:
        """True, False or Unknown."""


C = TypeVar("C", bound=ConditionLike)


def is_true(conditions: Iterable[ConditionLike], *types: str) -> bool:
    """Tell whether any condition of one of these types is True."""
    return any(condition.type in types and condition.status == "True" for condition in conditions)


def find(conditions: Iterable[C], type_: str) -> C | None:
    """Return the condition of a type, None where there is none."""
    return next((condition for condition in conditions if condition.type == type_), None)


def set_exclusive(
    conditions: Sequence[Condition], chosen: str, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    """Make one of InProgress, Succeeded and Failed True and the other two False; others stay as they are."""
    result = tuple(conditions)
    for type_ in EXCLUSIVE:
        if type_ == chosen:
            result = set_condition(result, type_, "True", reason, message, now)
        else:
            result = set_condition(result, type_, "False", SUPERSEDED, "", now)
    return result


def set_condition(
    conditions: Sequence[Condition], type_: str, status: str, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    """Set one condition in place, or append it; the transition time moves only when the status does.

    The message is cut where the API would refuse it: a kubelet's words alone may be ten thousand characters.
    """
    message = cut(message, LONGEST_MESSAGE)
    old = find(conditions, type_)
    if old is not None and (old.status, old.reason, old.message) == (status, reason, message):
        return tuple(conditions)  # as most are at most syncs
    stamp = old.last_transition_time if old and old.status == status else rfc3339(now)
    new = Condition(type=type_, status=status, reason=reason, message=message, last_transition_time=stamp)
    if old is None:
        return (*conditions, new)
    return tuple(new if condition.type == type_ else condition for condition in conditions)
