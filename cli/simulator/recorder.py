"""Events as a client's recorder writes them: one object a message, counted up when it repeats, few enough to bear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cli.simulator.api import Api
from cli.simulator.clock import Clock
from cli.simulator.entry import Entry, Object
from cli.simulator.errors import ApiError
from cli.simulator.kinds import CORE, Kind

EVENT = Kind(CORE, "Event", "events", generation=False)
BURST = 25  # events about one object that are let through at once
REFILL_SECONDS = 300.0  # until one more is
MAX_MESSAGE_CHARACTERS = 1024


@dataclass(slots=True)
class _Allowance:
    tokens: float
    since: float


class Recorder:
    """Writes events of one component; a failing write is dropped, as the real recorder drops it in the end."""

    def __init__(self, api: Api, clock: Clock, component: str) -> None:
        self._api = api
        self._clock = clock
        self._component = component
        self._written: dict[tuple[str, str, str], Object] = {}
        self._allowances: dict[str, _Allowance] = {}
        self._count = 0

    def event(self, about: Entry, type_: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record one event about an object: a new Event, or one more of the same."""
        if not self._allowed(about.uid):
            return
        message = message[:MAX_MESSAGE_CHARACTERS]
        key = (about.uid, reason, message)
        known = self._written.get(key)
        try:
            self._written[key] = self._again(known) if known is not None else self._first(about, type_, reason, message)
        except ApiError:
            self._written.pop(key, None)

    def _allowed(self, uid: str) -> bool:
        now = self._clock.time
        allowance = self._allowances.setdefault(uid, _Allowance(BURST, now))
        allowance.tokens = min(BURST, allowance.tokens + (now - allowance.since) / REFILL_SECONDS)
        allowance.since = now
        if allowance.tokens < 1:
            return False
        allowance.tokens -= 1
        return True

    def _again(self, known: Object) -> Object:
        counted = {"count": known["count"] + 1, "lastTimestamp": self._clock.stamp()}
        return self._api.patch(Entry(EVENT, known), counted)

    def _first(self, about: Entry, type_: str, reason: str, message: str) -> Object:
        self._count += 1
        now = self._clock.stamp()
        return self._api.create({
            "apiVersion": CORE,
            "kind": "Event",
            "metadata": {"name": f"{about.name[:230]}.{self._count:016x}", "namespace": about.namespace or "default"},
            "involvedObject": {
                "apiVersion": about.kind.api_version,
                "kind": about.kind.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
                "resourceVersion": str(about.version),
            },
            "type": type_,
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        })  # fmt: skip
