"""One look at everything, and what follows from it. Every replica of admission takes it again and again, none leads.

Order: read who trusts what, then the Secret, decide, write the Secret, tell those who trust, serve. Writes name the
version that was read, and clients are read before the Secret: so a replica that is late is refused, and can never take
back what another has done after it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from certs import files
from certs.api import CONFLICT, MERGE, NOT_FOUND, STRATEGIC_MERGE, Api, ApiError, Object
from certs.bundle import TokenReference, bundle, controller_patch, shows, webhook_patch
from certs.changes import changed
from certs.credentials import Credentials, Stage, is_ours, read, write
from certs.inspection import Reason
from certs.installation import Client, ClientKind, Installation
from certs.policy import decide
from certs.replicas import Endpoint, accepting, endpoints, serving
from certs.settings import Settings
from certs.situation import Action, Decision, Facts, Seen, Situation

ROTATE = "cre.nvidia.com/rotate"
"""An annotation of the Secret that asks for a rotation now; its value does not matter, and it is removed."""
MOST_ATTEMPTS = 5  # of one look, where another replica was faster

log = logging.getLogger(__name__)

Live = list[tuple[Client, Object]]


@dataclass(slots=True)
class Rotator:
    """Keeps one installation's credentials, and all who must know them, as the policy wants them."""

    api: Api
    installation: Installation
    settings: Settings
    clock: Callable[[], datetime]
    replicas: Callable[[Iterable[str]], tuple[Endpoint, ...]] | None = None
    """Finds the replicas of Services; unset asks the API server."""
    _remembered: Credentials | None = None
    _told: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Look once, again where another replica was faster. Raises ApiError, and whatever was begun is taken up later."""
        for attempt in range(MOST_ATTEMPTS):
            try:
                return self._look()
            except ApiError as error:
                if error.status != CONFLICT or attempt == MOST_ATTEMPTS - 1:
                    raise
        return None

    def _look(self) -> None:
        now = self.clock()
        clients, complete = self._read_clients()
        secret = self.api.get(self.installation.secret_path)
        data = _data(secret)
        situation = Situation(read(data), self._facts(read(data), secret, clients, complete), self.settings, now)
        decisions = decide(situation)
        credentials = changed(situation, decisions)
        self._write(secret, data, credentials, decisions, now)
        self._remembered = credentials
        self._publish(clients, credentials)
        self._serve(credentials)
