"""Real time as the driver wants it: one thread on which everything happens, a heap of what happens when.

Other threads only `post`. What raises on the loop ends it, and `stop` raises it again where the test can see it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from cli.simulator.clock import Timer, VirtualClock
from sync_hooks.api.time import rfc3339

Action = Callable[[], None]


class Loop:
    """A `Clock` that waits for real; its heap is the virtual clock's, moved on by what has really passed."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._heap = VirtualClock(datetime.now(UTC))
        self._posted: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="driver", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; raises what ended it before, if anything did."""
        self._posted.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def post(self, action: Action) -> None:
        """Do this soon, after what was posted before; may be called from any thread."""
        self._posted.put(action)

    @property
    def time(self) -> float:
        """Seconds since the loop was made."""
        return time.monotonic() - self._began

    def now(self) -> datetime:
        """Return the time of day, UTC."""
        return datetime.now(UTC)

    def stamp(self) -> str:
        """Return the time of day as the API server writes it, in whole seconds."""
        return rfc3339(self.now())

    def schedule(self, delay: float, action: Action, *, idle: bool = False) -> Timer:
        """Call ``action`` on the loop after ``delay`` seconds; only to be called on the loop."""
        late = self.time - self._heap.time  # the heap stands at the action that is running, which may take its time
        return self._heap.schedule(late + max(0.0, delay), action, idle=idle)

    def _run(self) -> None:
        try:
            while (action := self._next()) is not None:
                action()
        except BaseException as error:
            self._failure = error

    def _next(self) -> Action | None:
        """Return what was posted next, doing all that is due in the meantime."""
        while True:
            self._heap.advance(self.time - self._heap.time)
            due = self._heap.next_time()
            try:
                return self._posted.get(timeout=None if due is None else max(0.0, due - self.time))
            except queue.Empty:
                continue
