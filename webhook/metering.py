"""Counts what passes through the hooks' face: calls by answer and time, reads, bytes of logs, verdicts, measurements.

Nothing here changes an answer, and no label takes a value that a caller chooses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from sync_hooks.api.observed import Facts, Log
from sync_hooks.api.sync import (
    GetLogProfile,
    GetObject,
    ListEvents,
    ListKinds,
    ListNodes,
    ListObjects,
    ListPods,
    Read,
    ReadLog,
    Unreadable,
)
from webhook.answering import PARENTS, HookResponse
from webhook.apiserver import RESOURCES
from webhook.measured import MeasurementFacts
from webhook.metrics import (
    LOG_BYTES,
    MEASURED,
    MEASUREMENTS_LEFT_OUT,
    READS,
    SYNC_ANSWERS,
    SYNC_HELD,
    SYNC_SECONDS,
    VERDICTS,
    series,
)

OTHER = "other"  # stands for whatever is not known, so that nobody can make up labels
OK = 200
MEASUREMENTS = frozenset({"BandwidthMeasurement", "GoodputMeasurement"})
KNOWN_VERDICTS = frozenset({"Passed", "Failed", "Incomplete"})

Reader = Callable[[Read], Any]

log = logging.getLogger(__name__)


class _Verdict(Facts, frozen=True):
    verdict: str = ""


class _RunAnswer(Facts, frozen=True):
    status: _Verdict = _Verdict()


class _MeasurementAnswer(Facts, frozen=True):
    status: MeasurementFacts = MeasurementFacts()


_RUN = msgspec.json.Decoder(_RunAnswer)
_MEASUREMENT = msgspec.json.Decoder(_MeasurementAnswer)


def counted(read: Reader) -> Reader:
    """Return a reader that counts what it reads; what a shared snapshot answers counts too."""

    def counting(wanted: Read) -> Any:
        found = read(wanted)
        outcome = "failed" if isinstance(found, Unreadable) else "absent" if found is None else "ok"
        series(READS, kind_of(wanted), outcome).inc()
        if isinstance(found, Log):
            LOG_BYTES.inc(len(found.content))
        return found

    return counting


def kind_of(read: Read) -> str:
    """Name what a read is of, in few words: the kinds that are ever read, and what is none."""
    match read:
        case GetObject(api_version, kind) | ListObjects(api_version, kind):
            return kind if (api_version, kind) in RESOURCES else OTHER
        case GetLogProfile():
            return "LogProfile"
        case ListNodes():
            return "Node"
        case ListPods():
            return "Pod"
        case ReadLog():
            return "Log"
        case ListKinds():
            return "APIResource"
        case ListEvents():
            return "Event"


def note_answer(controller: str, code: int, seconds: float | None = None) -> None:
    """Count a call by its answer, and its time where it was really answered."""
    known = controller if controller in PARENTS else OTHER
    series(SYNC_ANSWERS, known, str(code)).inc()
    if seconds is not None:
        series(SYNC_SECONDS, known).observe(seconds)


def note_held(controller: str, seconds: float) -> None:
    """Count the time for which a known controller's call was held back."""
    if seconds:
        series(SYNC_HELD, controller).inc(seconds)


def note_status(answered: HookResponse) -> None:
    """Note a verdict that was not there before, and the figures of a measurement."""
    if answered.status != OK or answered.parent is None:
        return
    try:
        if answered.parent.kind == "WorkloadRun":
            _note_verdict(answered, _RUN.decode(answered.body).status.verdict)
        elif answered.parent.kind in MEASUREMENTS:
            taken = MEASURED.take(answered.parent, _MEASUREMENT.decode(answered.body).status)
            MEASUREMENTS_LEFT_OUT.inc(not taken)
    except msgspec.DecodeError as error:  # a status that somebody wrote by hand and that was answered as it is
        log.warning(
            "the figures of %s %s are not shown: %s", answered.parent.kind, answered.parent.metadata.name, error
        )


def _note_verdict(answered: HookResponse, verdict: str) -> None:
    """Count a verdict with the transition that brings it: later answers, to older requests too, bear it as well."""
    if verdict in KNOWN_VERDICTS and answered.events:
        VERDICTS.labels(verdict).inc()
