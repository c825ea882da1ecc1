"""One look at everything, and what follows from it. Every replica of admission takes it again and again; none leads.

Order: observe, decide, write the Secret, tell those who trust, serve. Every write names the version that was read, so
of several replicas one is first and the others look again.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from certs import files
from certs.announcement import announce
from certs.api import CONFLICT, MERGE, STRATEGIC_MERGE, Api, ApiError
from certs.authority import KeyPair
from certs.changes import changed
from certs.credentials import Credentials, Progress, is_ours, read, write
from certs.inspection import Reason, ended
from certs.installation import ClientKind, Installation
from certs.observation import ROTATE, Observation, facts, observe, patch_of
from certs.policy import decide
from certs.replicas import Replicas
from certs.settings import Settings
from certs.situation import Decision, Situation, Track

MOST_ATTEMPTS = 5  # at one look, where other replicas are faster

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Rotator:
    """Keeps one installation's credentials, and all who must know them, as the policy wants them."""

    api: Api
    installation: Installation
    settings: Settings
    replicas: Replicas
    clock: Callable[[], datetime]
    remembered: Credentials | None = None
    _noticed: dict[Track, tuple[Progress, datetime]] = field(default_factory=dict)

    def look(self) -> bool:
        """Look once, and again where another replica was faster; tell whether anything was decided.

        Raises ApiError: what was not done is done at the next look.
        """
        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return self._look()
            except ApiError as error:
                if error.status != CONFLICT:
                    raise
        return self._look()

    def _look(self) -> bool:
        observation = observe(self.api, self.installation)
        now = self.clock()  # what was read is noticed no sooner
        found = read(observation.data)
        known = facts(self.installation, observation, found, self.replicas, self.remembered)
        situation = Situation(found, known, self.settings, now, self._notice(found, now))
        decisions = decide(situation)
        credentials = changed(situation, decisions)
        self._write(observation, credentials, decisions)
        announce(self.api, self.installation, observation.secret, decisions, now)
        self.remembered = credentials
        refused = self._publish(observation, credentials)
        if self.installation.folder and credentials.certificates.serving:
            self._serve(self.installation.folder, credentials.certificates.serving, refused, now)
        if refused:
            raise refused[0]
        return bool(decisions)

    def _notice(self, found: Credentials, now: datetime) -> dict[Track, datetime]:
        """Say since when, by this replica's clock, each rotation is where it is."""
        progress = {Track.CERTIFICATES: found.certificates.progress, Track.TOKEN: found.tokens.progress}
        for track, seen in progress.items():
            known = self._noticed.get(track)
            if known is None or known[0] != seen or known[1] > now:  # later than now: the clock was set back
                self._noticed[track] = (seen, now)
        return {track: since for track, (_, since) in self._noticed.items()}

    def _write(self, observation: Observation, credentials: Credentials, decisions: tuple[Decision, ...]) -> None:
        """Write the Secret where it is to change; keys and annotations that are not ours stay."""
        ours = {key: value for key, value in observation.data.items() if is_ours(key)}
        data = write(credentials)
        if data == ours:
            return
        if not decisions:
            log.warning("the Secret was put right: it had been written by somebody else")
        others = {key: value for key, value in observation.data.items() if key not in ours}
        metadata = dict(observation.secret["metadata"])
        if any(decision.reason is Reason.ASKED for decision in decisions):
            metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != ROTATE}
        encoded = {key: base64.b64encode(value).decode() for key, value in sorted({**others, **data}.items())}
        self.api.put(self.installation.secret_path, {**observation.secret, "metadata": metadata, "data": encoded})

    def _publish(self, observation: Observation, credentials: Credentials) -> list[ApiError]:
        """Tell every client what it does not know yet, and return what went wrong: one that refuses stops no other."""
        refused = []
        for client, live in observation.clients:
            patch = patch_of(client, live, self.installation, credentials)
            if patch is None:
                continue
            content_type = STRATEGIC_MERGE if client.kind is ClientKind.WEBHOOKS else MERGE
            try:
                self.api.patch(client.path, patch, content_type)
                log.info("%s was told whom to trust", client.path)
            except ApiError as error:
                refused.append(error)
        return refused

    def _serve(self, folder: Path, serving: KeyPair, refused: list[ApiError], now: datetime) -> None:
        """Hand the certificate to the server, unless a client may not trust it yet and the old one still does."""
        old = files.stored(folder)
        if refused and old and not ended(old.certificate, now):
            log.warning("the certificate in use is kept: not everybody was told about the new one")
        elif files.store(folder, serving):
            log.info("the server has another certificate")
