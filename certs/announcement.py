"""Says what was decided: a line in the log and an event about the Secret. An event that is refused changes nothing."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from certs.api import Api, ApiError, Object
from certs.inspection import Reason
from certs.installation import Installation
from certs.situation import Action, Decision

COMPONENT = "workloadrun-certs"
_UNEXPECTED = (Action.REPLACE, Action.RESTORE, Action.RESUME)
"""Changes that a working installation never needs, unless what they replace was missing: so it begins."""

log = logging.getLogger(__name__)


def announce(
    api: Api, installation: Installation, secret: Object, decisions: Iterable[Decision], now: datetime
) -> None:
    """Tell people about decisions that were carried out."""
    for decision in decisions:
        log.info("%s %s: %s: %s", decision.track, decision.action.lower(), decision.reason, decision.message)
        try:
            api.post(installation.events_path, event(installation, secret, decision, now))
        except ApiError as error:
            log.warning("the event was not taken: %s", error)


def event(installation: Installation, secret: Object, decision: Decision, now: datetime) -> Object:
    """Render a decision as an event about the Secret."""
    uid, stamp = secret["metadata"].get("uid", ""), now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    identity = hashlib.sha256(f"{uid}/{decision.track}/{decision.action}/{now.isoformat()}".encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{installation.secret}.{identity}", "namespace": installation.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Secret",
            "name": installation.secret,
            "namespace": installation.namespace,
            "uid": uid,
        },
        "type": "Warning" if _unexpected(decision) else "Normal",
        "reason": f"{decision.track}{decision.action}",
        "message": f"{decision.reason}: {decision.message}",
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "source": {"component": COMPONENT},
    }


def _unexpected(decision: Decision) -> bool:
    begins = decision.action is Action.REPLACE and decision.reason is Reason.MISSING
    return decision.action in _UNEXPECTED and not begins
