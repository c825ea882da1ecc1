"""Gang scheduling and the labels of TrainJobs: keys that may be set, and one value a key."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import forbidden, invalid, too_many
from sync_hooks.admission.validation.grammar import label_key, no_padding
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import DEFAULT_QUEUE, MOST_LABELS, QUEUE_LABEL_KEY
from sync_hooks.api.model import GROUP
from sync_hooks.api.names import LABEL_MANAGED_BY


def gang_errors(spec: Value) -> Iterator[FieldError]:
    """Check the scheduler and the queue's label, alone and against the workload's labels."""
    gang = spec.field("gangScheduler")
    scheduler, key = gang.field("schedulerName"), gang.field("queueLabelKey")
    if scheduler.text and (sentence := no_padding(scheduler.text)):
        yield invalid(scheduler, sentence)
    if key.text and (sentence := label_key(key.text)):
        yield invalid(key, sentence)
    if _is_ours(key.text):
        yield invalid(key, f"{LABEL_MANAGED_BY} and {GROUP}/ are reserved")
    yield from _queue_errors(gang, spec.field("workloadMetadata", "labels"))


def workload_label_errors(spec: Value) -> Iterator[FieldError]:
    """Check the labels of a run's or a Job's TrainJob."""
    return label_errors(spec.field("workloadMetadata", "labels"))


def label_errors(labels: Value) -> Iterator[FieldError]:
    """Check the keys of labels that a TrainJob is to carry; their values are in its model."""
    for name, value in labels.entries():
        if _is_ours(name):
            yield forbidden(value, f"{LABEL_MANAGED_BY} and {GROUP}/ are reserved")
        elif sentence := label_key(name):
            yield invalid(Value(name, value.path), sentence)


def _queue_errors(gang: Value, labels: Value) -> Iterator[FieldError]:
    key = gang.field("queueLabelKey").text or QUEUE_LABEL_KEY
    queue = gang.field("queue").text or DEFAULT_QUEUE
    own = labels.key(key)
    if own.present and own.json != queue:
        yield invalid(own, f"must be {queue}, the queue of spec.gangScheduler, whose label this is")
    if not own.present and len(labels.fields) == MOST_LABELS:
        yield too_many(labels, MOST_LABELS + 1, MOST_LABELS)  # the queue's label is one of them


def _is_ours(key: str) -> bool:
    return key == LABEL_MANAGED_BY or key.startswith(f"{GROUP}/")
