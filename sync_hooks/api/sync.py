"""The values that pass between the pure hooks and the edge that reads the cluster.

A hook is ``sync(request, observed, now) -> Answer``. It asks for what it has not seen yet by returning `Reads`; the
edge fetches them and calls it again with ``observed`` grown by one entry a read. A read that failed is `Unreadable`:
data, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GetObject:
    """One live object, past every cache. Observed as `observed.LiveObject`, or None where the API server says 404."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ListObjects:
    """Every object of a kind, in one namespace or, where that is empty, in all: only for kinds of which there are few.

    Observed as a tuple of `observed.LiveObject` sorted by namespace and name.
    """

    api_version: str
    kind: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class GetLogProfile:
    """One LogProfile, at most 30 s old. Observed as `observed.LiveObject` or None."""

    name: str


@dataclass(frozen=True, slots=True)
class ListNodes:
    """Every Node. Observed as a tuple of `observed.Node` sorted by name.

    ``max_age`` in seconds says how old the shared snapshot may be; planning asks for 0.
    """

    max_age: int = 60


@dataclass(frozen=True, slots=True)
class ListPods:
    """The pods of one JobSet by name. Observed as a tuple of `observed.Pod` sorted by name.

    ``fresh`` reads past the shared snapshot of the namespace (10 s). For what may be gone a moment later (the
    first pods that are ready; those of a workload that has ended, for its times, failure and last log), and to see that
    no pod lives any more (of a Job that is drained, tried again, torn down or was deleted).
    """

    namespace: str
    jobset: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class ReadLog:
    """A bounded piece of one container's log, with the kubelet's timestamps. Observed as `observed.Log`.

    ``since`` (RFC 3339) starts the window; the API server keeps the head of it when ``limit_bytes`` cuts, the tail when
    ``tail_lines`` is set.
    """

    namespace: str
    pod: str
    container: str
    since: str | None = None
    limit_bytes: int = 8 << 20
    tail_lines: int | None = None


@dataclass(frozen=True, slots=True)
class ListKinds:
    """The kinds that the API server serves of one group and version. Observed as a tuple of str, empty for none."""

    api_version: str


@dataclass(frozen=True, slots=True)
class ListEvents:
    """Events of one reason about one object, by its UID or by its kind and name; what is empty is not asked for.

    Observed as a tuple of `observed.Told`, newest first.
    """

    namespace: str
    reason: str
    uid: str = ""
    kind: str = ""
    name: str = ""


Read = GetObject | ListObjects | GetLogProfile | ListNodes | ListPods | ReadLog | ListKinds | ListEvents


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in ``observed`` for a read that failed: the reason is one line fit for a status message."""

    reason: str


Observed = Mapping[Read, Any]


@dataclass(frozen=True, slots=True)
class Reads:
    """Ask the edge for these before answering."""

    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes event about the parent, one a transition. ``transition`` makes its name unique and repeatable."""

    type: str  # Normal or Warning
    reason: str
    message: str
    transition: str


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to Metacontroller: the whole status, every child that should exist, when to ask again.

    ``children`` holds whole objects for new children and stubs (apiVersion, kind, metadata.name) for existing ones.
    ``resync_after`` is in seconds; 0 means not before something changes.
    """

    status: dict[str, Any]
    children: tuple[dict[str, Any], ...] = ()
    resync_after: float = 0
    finalized: bool = False
    events: tuple[Event, ...] = field(default=())
    pressing: bool | None = False
    """Whether nothing else goes on meanwhile, so that the next request is not to be held back; None leaves it open."""
    fault: str = ""
    """A fault of our own that ended the parent, with its traceback: for the log."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Answer 429: nothing is to be changed now (another version's plan, own trouble); asked again after the delay."""

    reason: str
    retry_after: int = 10
    passing: bool = False
    """What is in the way is being written at this moment: the edge may look once more before it answers."""


Answer = Reads | Result | Busy
