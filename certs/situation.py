"""What a decision depends on, and what it says: the values between the policy, what it is told and what it causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from certs.credentials import Credentials
from certs.inspection import Reason
from certs.settings import Settings


class Track(StrEnum):
    """The two things that rotate, each in its own time."""

    CERTIFICATES = "Certificates"
    TOKEN = "Token"  # noqa: S105  a word, no secret


class Action(StrEnum):
    """What is done to one of them."""

    RESTORE = "Restored"
    """What this replica remembers is written back: it was usable, and what stands there is not."""
    REPLACE = "Replaced"
    """Made anew and used at once: there is nothing usable to be kept."""
    REISSUE = "Reissued"
    """Another serving certificate of the same CA, used at once: everybody trusts it already."""
    ADOPT = "Adopted"
    """A CA that somebody else made is trusted beside the one before."""
    PUBLISH = "Published"
    """The next one is made and announced, the current one stays in use."""
    CONFIRM = "Confirmed"
    """What was published or switched to has reached everybody; the time to settle begins."""
    SWITCH = "Switched"
    """The next one becomes the current, the current one the old."""
    RESUME = "Resumed"
    """Somebody is behind after all: the stage begins again, now."""
    DROP = "Dropped"
    """The old one is no longer accepted."""


class Seen(StrEnum):
    """What the replicas said when they were asked whether they are as far."""

    ALL = "All"
    NOT_ALL = "NotAll"
    UNKNOWN = "Unknown"
    """None said no, and some could not be asked."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found around the Secret."""

    trusted: bool = False
    """Every client that there is has the bundle of the current stage."""
    shown: bool = False
    """Every CompositeController shows the current token."""
    served: Seen = Seen.UNKNOWN
    """The replicas serve the current serving certificate."""
    accepted: Seen = Seen.UNKNOWN
    """The hooks' replicas accept the next token."""
    asked: bool = False
    """Somebody wants a rotation now."""
    external: bytes | None = None
    """The CA of certificates that are made by somebody else."""
    remembered: Credentials | None = None
    """What this replica read last."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision depends on."""

    credentials: Credentials
    facts: Facts
    settings: Settings
    now: datetime
    noticed: Mapping[Track, datetime] = field(default_factory=dict)
    """Since when this replica has seen each rotation where it is; absent where it sees that now for the first time."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One change, and why."""

    track: Track
    action: Action
    reason: Reason
    message: str
