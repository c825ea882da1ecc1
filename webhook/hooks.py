"""The hooks' HTTP face: authenticate, answer, and hand events to the thread that posts them.

Trouble of our own and overload are answered 429 with a Retry-After, because Metacontroller's back-off after an error
grows to a quarter of an hour, and because a wrong 200 would delete children.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from time import monotonic, perf_counter, sleep

import msgspec
from flask import Flask, request
from werkzeug.exceptions import HTTPException

from webhook.answering import HOOKS, HookResponse, Reader, answer
from webhook.apiserver import ApiServer
from webhook.auth import TokenFile
from webhook.body import Budget, read_body
from webhook.events import EventPoster
from webhook.limits import LOGS_BYTES
from webhook.logs import with_room
from webhook.metering import counted, note_answer, note_held, note_status
from webhook.observer import CALL_SECONDS, Observer, within
from webhook.pace import Pace
from webhook.response import JsonResponse
from webhook.settings import Settings

OWN_TROUBLE_RETRY_SECONDS = 10
MOMENT_SECONDS = 0.15  # in which Metacontroller writes a parent's status, having carried out what was asked of children

log = logging.getLogger(__name__)


def register(app: Flask, settings: Settings) -> None:
    """Add the hooks' routes to an application."""
    api = ApiServer(settings.kubeconfig, direct=True)
    observer, events, tokens = Observer(api), EventPoster(api), TokenFile(settings.token_file)
    pace, logs = Pace(), Budget(LOGS_BYTES)

    @app.post("/hooks/<controller>/<hook>")
    def call(controller: str, hook: str) -> JsonResponse:
        refused = _refusal(tokens, controller, hook)
        if refused is not None:
            note_answer(controller, refused.status)
            return _response(refused)
        answered = _answer(controller, hook, observer, pace, logs)
        note_status(answered)
        if answered.parent is not None and answered.events:
            events.post(answered.parent, answered.events, datetime.now(UTC))
        return _response(answered)


def _refusal(tokens: TokenFile, controller: str, hook: str) -> HookResponse | None:
    """Refuse strangers, and calls of hooks that there are not."""
    if not tokens.accepts(request.headers.get("Authorization")):
        return HookResponse(401, b'{"error":{"message":"a valid bearer token is needed"}}')
    if (controller, hook) not in HOOKS:
        return HookResponse(404, b'{"error":{"message":"there is no such hook"}}')
    return None


def _answer(controller: str, hook: str, observer: Observer, pace: Pace, logs: Budget) -> HookResponse:
    """Answer a call, and count it; the time it takes is that from when its turn has come."""
    try:
        with read_body() as body:
            held = pace.keep(body)
            began = perf_counter()
            until = monotonic() + CALL_SECONDS
            with with_room(counted(partial(observer.read, until=until)), logs) as reading:
                answered, paused = persist(lambda: answer_now(controller, hook, body, within(reading, until)))
    except HTTPException as error:
        note_answer(controller, error.code or 500)
        raise
    if answered.parent is not None and answered.pressing is not None:
        pace.note(answered.parent.metadata.uid, pressing=answered.pressing)
    note_held(controller, held + paused)
    note_answer(controller, answered.status, perf_counter() - began - paused)
    return answered


def persist(ask: Callable[[], HookResponse], pause: Callable[[float], None] = sleep) -> tuple[HookResponse, float]:
    """Ask once more where what is in the way is passing, and return the answer and the seconds that were waited.

    To have Metacontroller ask again would take a second, and as much work again.
    """
    answered = ask()
    if not answered.passing:
        return answered, 0.0
    pause(MOMENT_SECONDS)
    return ask(), MOMENT_SECONDS


def answer_now(controller: str, hook: str, body: bytes, read: Reader) -> HookResponse:
    """Answer a call; trouble of our own is an answer too, and never called the caller's."""
    try:
        answered = answer(controller, hook, body, read, datetime.now(UTC))
    except msgspec.DecodeError:
        return HookResponse(400, b'{"error":{"message":"the body is not JSON"}}')
    except Exception:
        log.exception("%s of %s failed", hook, controller)
        return HookResponse(429, b'{"error":{"message":"own trouble"}}', OWN_TROUBLE_RETRY_SECONDS)
    if answered.fault:
        log.error("%s of %s ended its parent by a fault of our own:\n%s", hook, controller, answered.fault)
    return answered


def _response(answered: HookResponse) -> JsonResponse:
    response = JsonResponse(answered.body, answered.status)
    if answered.retry_after is not None:
        response.headers["Retry-After"] = str(answered.retry_after)
    return response
