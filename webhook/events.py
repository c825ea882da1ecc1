"""Posts events in a thread of its own, one a transition: its name repeats, so a replayed sync posts nothing.

An event that cannot be posted is dropped: it never delays or fails a sync.
"""

from __future__ import annotations

import hashlib
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from sync_hooks.api.observed import LiveObject
from sync_hooks.api.sync import Event
from sync_hooks.api.time import rfc3339
from webhook.apiserver import ApiError, ApiServer, Path

COMPONENT = "cluster-readiness-engine"
LONGEST_NOTE = 1024  # bytes: the API's own limit
ALREADY_EXISTS = 409

log = logging.getLogger(__name__)


class EventPoster:
    """Posts events one after the other, beside the requests."""

    def __init__(self, api: ApiServer) -> None:
        """Start the one thread that posts."""
        self._api = api
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="events")

    def post(self, parent: LiveObject, events: tuple[Event, ...], now: datetime) -> None:
        """Hand events over; returns at once."""
        for event in events:
            self._executor.submit(self._post, event_object(parent, event, now))

    def _post(self, body: dict[str, Any]) -> None:
        try:
            self._api.post(Path("v1", "events", body["metadata"]["namespace"]), body)
        except ApiError as error:
            if error.status != ALREADY_EXISTS:
                log.warning("event not posted: %s", error)


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
