"""Counts of what the API server had to do: writes and their bytes, by who asked, verb and kind. Decides nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cli.simulator.kinds import Kind


@dataclass(slots=True)
class Tally:
    """Running totals; keys are ``(actor, verb, Kind.group/version)``."""

    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Writes that were accepted, those that changed nothing included."""
    written_bytes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Size in JSON of the objects that those writes stored."""

    def count(self, actor: str, verb: str, kind: Kind, size: int = 0) -> None:
        """Count one accepted request."""
        key = (actor, verb, kind.key)
        self.requests[key] += 1
        self.written_bytes[key] += size

    def total(self, *, actor: str | None = None, verb: str | None = None, kind: str | None = None) -> int:
        """Sum the requests that match every given part."""
        wanted = (actor, verb, kind)
        return sum(
            count
            for key, count in self.requests.items()
            if all(part is None or part == value for part, value in zip(wanted, key, strict=True))
        )
