"""Pods of JobSets: a namespace's at a time for whoever may see them late, one JobSet's for whoever may not.

What was read past a snapshot counts for all until a snapshot is newer: nobody who has seen a pod is shown a time before
it by this process. Others have snapshots of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic

from sync_hooks.api.observed import Pod
from sync_hooks.api.sync import ListPods, Unreadable
from webhook.snapshots import Snapshots

POD_SNAPSHOT_SECONDS = 10
KEPT_SECONDS = POD_SNAPSHOT_SECONDS + 60  # a list that is shown was asked for so long ago at most: one may take as long
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"

Lister = Callable[[str, str], Iterable[Pod]]
"""Lists the pods of a namespace that a label selector chooses; raises what a failed request raises."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Pods by the name of their JobSet, and when the list was asked for."""

    began: float
    pods: Mapping[str, tuple[Pod, ...]]


class Pods:
    """What is known of pods; one a process, shared by its threads."""

    def __init__(self) -> None:
        """Know nothing."""
        self._snapshots: Snapshots[_Seen] = Snapshots()
        self._fresh: dict[tuple[str, str], _Seen] = {}
        self._guard = threading.Lock()

    def read(self, read: ListPods, lister: Lister, until: float) -> tuple[Pod, ...] | Unreadable:
        """Return a JobSet's pods in order of their names; a failure that others share is a value.

        Raises what ``lister`` raises where it is asked for this read alone, and OverTime as snapshots do.
        """
        if read.fresh:
            return self._note(read, _seen(lister, read.namespace, f"{JOBSET_NAME}={read.jobset}"))
        found = self._snapshots.get(
            read.namespace, POD_SNAPSHOT_SECONDS, lambda: _seen(lister, read.namespace, JOBSET_NAME), until
        )
        if isinstance(found, Unreadable):
            return found
        with self._guard:
            fresh = self._fresh.get((read.namespace, read.jobset))
        newest = fresh if fresh is not None and fresh.began > found.began else found
        return newest.pods.get(read.jobset, ())

    def __len__(self) -> int:
        """Return how many looks past a snapshot are remembered."""
        return len(self._fresh)

    def _note(self, read: ListPods, seen: _Seen) -> tuple[Pod, ...]:
        key = (read.namespace, read.jobset)
        with self._guard:
            known = self._fresh.pop(key, seen)
            self._fresh[key] = max(known, seen, key=lambda look: look.began)  # the last to be forgotten
            while self._fresh[oldest := next(iter(self._fresh))].began <= seen.began - KEPT_SECONDS:
                del self._fresh[oldest]
        return seen.pods.get(read.jobset, ())


def _seen(lister: Lister, namespace: str, selector: str) -> _Seen:
    began = monotonic()
    found: dict[str, list[Pod]] = {}
    for pod in sorted(lister(namespace, selector), key=lambda pod: pod.name):
        found.setdefault(pod.labels.get(JOBSET_NAME, ""), []).append(pod)
    return _Seen(began, {name: tuple(pods) for name, pods in found.items()})
