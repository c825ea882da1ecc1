"""How long things take: the delays of informers and hooks, and the rate limit of Metacontroller's API client."""

from __future__ import annotations

from dataclasses import dataclass

from cli.simulator.clock import Clock


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations of one process of Metacontroller; the defaults are those of the flags that the product recommends.

    They matter: while a sync runs, further events of its parent are coalesced into one more sync.
    """

    watch_seconds: float = 0.02
    hook_seconds: float = 0.02
    """A hook call with a small body."""
    bytes_per_second: float = 10e6
    """Rate at which a large request is written as JSON, sent, decoded, and its children compared with the answer."""
    call_seconds: float = 0.005
    """One request to the API server."""
    queries_per_second: float = 200.0
    """``--client-go-qps``; 0 means no limit."""
    burst: int = 400
    """``--client-go-burst``."""
    workers: int = 32
    """``--workers``: syncs of one controller at a time."""
    default_resync_seconds: float = 1800.0
    """``--cache-flush-interval``: the informers' own resync."""

    def hook_duration(self, body: bytes) -> float:
        """Seconds from building a request to having its answer."""
        return self.hook_seconds + len(body) / self.bytes_per_second


class RateLimit:
    """A token bucket: how long calls that were made now would have waited for their turn."""

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock = clock
        self._rate = pace.queries_per_second
        self._burst = pace.burst
        self._free_at = 0.0
        """When the bucket would be full if nobody took from it; ahead of now by what was taken."""

    def take(self, calls: int) -> float:
        """Take tokens and return the seconds until the last of them is granted."""
        if self._rate <= 0 or calls <= 0:
            return 0.0
        now = self._clock.time
        self._free_at = max(self._free_at, now) + calls / self._rate
        return max(0.0, self._free_at - now - self._burst / self._rate)
