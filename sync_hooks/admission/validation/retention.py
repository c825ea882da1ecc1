"""How long a run's Jobs stay after its end: an annotation, because it says nothing of the workload."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.value import Value
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.errors import FieldError
from sync_hooks.api.names import ANNOTATION_RETENTION


def retention_errors(root: Value) -> Iterator[FieldError]:
    """Refuse what is no duration: the Jobs would stay for ever, and nobody would be told."""
    period = root.field("metadata", "annotations").key(ANNOTATION_RETENTION)
    if not isinstance(period.json, str):
        return
    seconds = parse_duration(period.json)
    if seconds is None or seconds < 0:
        yield invalid(period, "must be a duration such as 30m or 72h; units are ns, us, ms, s, m and h")
