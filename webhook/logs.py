"""Room for pages of logs: what all calls together hold of them is bounded, as their bodies are.

Refuses no page that would fit alone: it waits a moment for room, and is unreadable for this call where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sync_hooks.api.observed import Log
from sync_hooks.api.sync import Read, ReadLog, Unreadable
from webhook.answering import Reader
from webhook.body import Budget

TIMES_HELD = 3  # the page, its pieces as they are received, and what is cut out of it while it is read
ROOM_SECONDS = 5  # with `webhook.observer.LOG_SECONDS` no longer than any other read may take


@contextmanager
def with_room(read: Reader, budget: Budget, seconds: float = ROOM_SECONDS) -> Iterator[Reader]:
    """Give a reader for one call, whose pages of logs have taken their room until the call ends."""
    taken = 0

    def reading(wanted: Read) -> Any:
        nonlocal taken
        if not isinstance(wanted, ReadLog):
            return read(wanted)
        most = TIMES_HELD * wanted.limit_bytes
        if not budget.take(most, seconds):
            return Unreadable("too many logs are being read at once")
        taken += most
        found = read(wanted)
        unused = most - TIMES_HELD * len(found.content) if isinstance(found, Log) else most
        budget.give_back(unused)
        taken -= unused
        return found

    try:
        yield reading
    finally:
        budget.give_back(taken)
