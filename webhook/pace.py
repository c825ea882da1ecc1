"""The pace of large requests: about one parent they are answered only so often, the less often the larger they are.

Any change of a Job makes Metacontroller send the Workflow again, with all its Jobs: about a run of hundreds of groups
it would ask without a pause, each time with megabytes to encode, send and decode, and for another status that somebody
else must look at. While an answer is held back it gathers the changes, and its next request brings them all.

Where nothing else goes on, as between two iterations and at the end, there is nothing to gather, and nobody is held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

import msgspec

FREE_BYTES = 64 << 10  # a handful of Jobs: what is smaller costs little, and somebody waits for a small run
SECONDS_A_BYTE = 1 / (1 << 20)
LONGEST_SECONDS = 1.0  # while one is held back a worker of Metacontroller is, and there are five if nobody says more
PRESSING_SECONDS = 0.1  # by then the caches have what was written last


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Parent(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Request(msgspec.Struct):
    parent: _Parent = msgspec.field(default_factory=_Parent)


_REQUEST = msgspec.json.Decoder(_Request)


class Pace:
    """When each parent may be answered next; one a process, shared by its threads."""

    def __init__(self, clock: Callable[[], float] = monotonic, pause: Callable[[float], None] = sleep) -> None:
        """Start with nobody to be waited for."""
        self._clock, self._pause = clock, pause
        self._due: dict[str, float] = {}
        self._pressing: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many parents are remembered."""
        return len(self._due.keys() | self._pressing)

    def keep(self, body: bytes) -> float:
        """Wait until a request may be answered, and return for how many seconds.

        That is at once after a quiet time, and always if it is small.
        """
        if len(body) < FREE_BYTES:
            return 0.0
        try:
            uid = _REQUEST.decode(body).parent.metadata.uid
        except (msgspec.DecodeError, RecursionError):
            return 0.0  # it will be refused
        with self._lock:
            now = self._clock()
            longest = PRESSING_SECONDS if uid in self._pressing else LONGEST_SECONDS
            due = min(max(now, self._due.get(uid, now)), now + longest)
            self._due = {other: time for other, time in self._due.items() if time > now}
            self._due[uid] = due + min(LONGEST_SECONDS, len(body) * SECONDS_A_BYTE)
            self._pressing.intersection_update(self._due)
        if due > now:
            self._pause(due - now)
        return due - now

    def note(self, uid: str, *, pressing: bool) -> None:
        """Remember whether what a parent was answered lets others wait, or is a step that only it goes on from."""
        with self._lock:
            if pressing and uid in self._due:
                self._pressing.add(uid)
            else:
                self._pressing.discard(uid)
