"""Posts events in a thread of its own, one a transition: its name repeats, so a replayed sync posts nothing.

An event that cannot be posted is dropped and counted: it never delays or fails a sync, nor delays the end of a process.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from datetime import datetime
from queue import Full, Queue
from typing import Any

from sync_hooks.api.observed import LiveObject
from sync_hooks.api.sync import Event
from sync_hooks.api.time import rfc3339
from webhook.apiserver import ApiError, ApiServer, Path
from webhook.metrics import EVENTS_DROPPED

COMPONENT = "cluster-readiness-engine"
LONGEST_NOTE = 1024  # bytes: the API's own limit
ALREADY_EXISTS = 409
MOST_WAITING = 1000  # of some 2 kB: minutes of posting, and more than all groups of a large run tell at once

log = logging.getLogger(__name__)


class EventPoster:
    """Posts events one after the other, beside the requests."""

    def __init__(self, api: ApiServer) -> None:
        """Start the one thread that posts; it ends with the process, whatever still waits."""
        self._api = api
        self._waiting: Queue[dict[str, Any]] = Queue(MOST_WAITING)
        threading.Thread(target=self._post_all, name="events", daemon=True).start()

    def post(self, parent: LiveObject, events: tuple[Event, ...], now: datetime) -> None:
        """Hand events over; returns at once, and never raises: the answer that they tell of stands."""
        for event in events:
            try:
                self._waiting.put_nowait(event_object(parent, event, now))
            except Full:
                EVENTS_DROPPED.inc()
            except Exception:
                EVENTS_DROPPED.inc()
                log.exception("an event of %s %s cannot be written", parent.kind, parent.metadata.name)

    def _post_all(self) -> None:
        while True:
            body = self._waiting.get()
            try:
                self._api.post(Path("v1", "events", body["metadata"]["namespace"]), body)
            except ApiError as error:
                if error.status != ALREADY_EXISTS:
                    EVENTS_DROPPED.inc()
                    log.warning("event not posted: %s", error)
            except Exception:  # the thread is the only one
                EVENTS_DROPPED.inc()
                log.exception("event not posted")


def event_object(parent: LiveObject, event: Event, now: datetime) -> dict[str, Any]:
    """Render an event about a parent; the same transition always gets the same name."""
    metadata = parent.metadata
    identity = hashlib.sha256(f"{metadata.uid}/{event.transition}/{event.reason}".encode()).hexdigest()[:16]
    note = event.message.encode()[:LONGEST_NOTE].decode(errors="ignore")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata.name}.{identity}", "namespace": metadata.namespace},
        "involvedObject": {
            "apiVersion": parent.api_version,
            "kind": parent.kind,
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
        },
        "type": event.type,
        "reason": event.reason,
        "message": note,
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
        "source": {"component": COMPONENT},
    }
