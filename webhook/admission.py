"""The HTTP face of admission: AdmissionReview v1 in, AdmissionReview v1 out, whatever comes in.

What is no review is answered as JSON too, with the uid where one can be found: a status from 400 on and a reason.
"""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import msgspec
from flask import Flask
from werkzeug.exceptions import HTTPException

from sync_hooks.admission.admit import admit
from sync_hooks.admission.review import Face, Refusal, Request, review
from sync_hooks.admission.review import Response as Verdict
from sync_hooks.admission.rules import known_kinds
from sync_hooks.api.model import API_VERSION as OUR_VERSION
from sync_hooks.api.model import GROUP
from webhook.body import media_type, read_body
from webhook.limits import SMALL_BYTES
from webhook.metrics import ADMISSION_REQUESTS, ADMISSION_SECONDS, series
from webhook.response import JSON, JsonResponse

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
MOST_COMMAS = 400_000  # of an object, so as many values; etcd takes none that has half of them
MOST_AT_ONCE = 4  # judged; more are no faster, as they share one interpreter, and each may take some 30 MB
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

_UID = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')  # the API server writes the request's own before any other

_REASONS = {
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    429: "TooManyRequests",
}
"""Kubernetes' words for HTTP's numbers."""

log = logging.getLogger(__name__)


class _Kind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Request(msgspec.Struct, rename="camel"):
    """The part of an AdmissionRequest that is looked at; the objects stay undecoded until they are needed."""

    uid: str = ""
    kind: _Kind = msgspec.field(default_factory=_Kind)
    name: str | None = None
    sub_resource: str | None = None
    operation: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_decoder = msgspec.json.Decoder(_Review)
_AT_ONCE = threading.BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and a body."""

    status: int
    body: bytes


def register(app: Flask) -> None:
    """Add the routes of both webhooks to an application."""
    for face in Face:
        app.add_url_rule(f"/{face.value}", face.value, _view(face), methods=["POST"])


def _view(face: Face) -> Any:
    seconds = series(ADMISSION_SECONDS, face.value)

    def view() -> JsonResponse:
        start = perf_counter()
        with read_body() as body:
            answered = answer(body, media_type(), face)
        seconds.observe(perf_counter() - start)
        return JsonResponse(answered.body, answered.status)

    return view


def answer(body: bytes, content_type: str, face: Face) -> Answer:
    """Answer the body of one call. Never raises."""
    if content_type != JSON:
        return _unreadable(body, 415, "UnsupportedMediaType", f"the body must be {JSON}")
    try:
        decoded = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _unreadable(body, 400, "BadRequest", f"the body is no {KIND}: {error}")
    if decoded.api_version != API_VERSION or decoded.kind != KIND:
        return _unreadable(body, 400, "BadRequest", f"the body must be an {KIND} of {API_VERSION}")
    if decoded.request is None or not decoded.request.uid:
        return _unreadable(body, 400, "BadRequest", "the review has no request with a uid")
    return _reviewed(decoded.request, face)


def _reviewed(call: _Request, face: Face) -> Answer:
    try:
        with _AT_ONCE:
            verdict = _too_large(call) or review(_request(call), face)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        verdict = Verdict(Refusal(400, "BadRequest", f"the object cannot be read: {error}"))
    except Exception:
        log.exception("%s of %r failed", face.value, call.name)
        _count(call, face, "error")
        return _failed(call.uid, 500, "InternalError", "the webhook failed; its log says why")
    _count(call, face, "allowed" if verdict.allowed else "refused")
    return Answer(200, _written(call, verdict))


def _too_large(call: _Request) -> Verdict | None:
    """Refuse what holds so many values that taking it apart would cost all our memory."""
    for item in (call.object, call.old_object):
        if memoryview(item).nbytes > SMALL_BYTES and bytes(item).count(b",") > MOST_COMMAS:
            return Verdict(Refusal(413, "RequestEntityTooLarge", f"an object may hold at most {MOST_COMMAS} values"))
    return None


def _count(call: _Request, face: Face, outcome: str) -> None:
    """Count an answer under words that are ours: a caller cannot make up new series."""
    kind = call.kind.kind if call.kind.group == GROUP and call.kind.kind in known_kinds() else "other"
    operation = call.operation if call.operation in OPERATIONS else "other"
    series(ADMISSION_REQUESTS, face.value, kind, operation, outcome).inc()


def _request(call: _Request) -> Request:
    wanted = call.operation in ("CREATE", "UPDATE") and call.kind.group == GROUP and not call.sub_resource
    return Request(
        operation=call.operation,
        group=call.kind.group,
        version=call.kind.version,
        kind=call.kind.kind,
        name=call.name or "",
        sub_resource=call.sub_resource or "",
        object=msgspec.json.decode(call.object) if wanted else None,
        old_object=msgspec.json.decode(call.old_object) if wanted else None,
    )


def _written(call: _Request, verdict: Verdict) -> bytes:
    response: dict[str, Any] = {"uid": call.uid, "allowed": verdict.allowed}
    if verdict.refusal is not None:
        response["status"] = _status(call, verdict.refusal)
    if verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = msgspec.json.encode(verdict.patch)  # bytes are written as base64
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    return _review(response)


def _status(call: _Request, refusal: Refusal) -> dict[str, Any]:
    """Write a metav1.Status, so that kubectl prints the causes as it does for built-in kinds."""
    causes = [{"reason": cause.type, "message": cause.message, "field": cause.field} for cause in refusal.causes]
    details = {"name": call.name or "", "group": call.kind.group, "kind": call.kind.kind}
    return {
        "status": "Failure",
        "message": refusal.message,
        "reason": refusal.reason,
        "code": refusal.code,
        "details": {**details, "causes": causes} if causes else details,
    }


def _unreadable(body: bytes, code: int, reason: str, message: str) -> Answer:
    """Refuse what is no review; the uid, if there is one, is found without understanding the rest."""
    found = _UID.search(body)
    return _failed(found[1].decode() if found else "", code, reason, message)


def _failed(uid: str, code: int, reason: str, message: str) -> Answer:
    status = {"status": "Failure", "message": message, "reason": reason, "code": code}
    response = {**({"uid": uid} if uid else {}), "allowed": False, "status": status}
    return Answer(code, _review(response))


def _review(response: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def http_error(error: HTTPException, beginning: bytes = b"") -> Answer:
    """Refuse a call that was not read to its end; its uid may stand where its body begins."""
    code = error.code or 500
    return _unreadable(beginning, code, _REASONS.get(code, "BadRequest"), error.description or error.name)


def failure() -> Answer:
    """Refuse a call that made the server fail where nobody expected it."""
    return _failed("", 500, "InternalError", "the webhook failed; its log says why")


def warm_up() -> None:
    """Load and build what the first requests would wait for otherwise: models, rules, official types, the compiler."""
    for kind in known_kinds():
        admit({"apiVersion": OUR_VERSION, "kind": kind, "metadata": {"name": "warm-up"}, "spec": {}})
    admit({"apiVersion": OUR_VERSION, "kind": "WorkloadRun", "spec": _WARM_UP_SPEC})


_WARM_UP_SPEC = {
    "env": [{"name": "A"}],
    "thresholds": {"goodputRatio": "value > 0.9"},
    "overrides": [{"when": {"expression": "true"}, "jobTemplate": {"spec": {}}}],
}
"""Calls for every part that is loaded when first used."""
