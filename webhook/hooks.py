"""The hooks' HTTP face: authenticate, answer, post events afterwards.

Trouble of our own and overload are answered 429 with a Retry-After, because Metacontroller's back-off after an error
grows to a quarter of an hour, and because a wrong 200 would delete children.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from webhook.answering import HOOKS, HookResponse, answer
from webhook.apiserver import ApiServer
from webhook.auth import TokenFile
from webhook.events import EventPoster
from webhook.observer import Observer
from webhook.settings import Settings

OWN_TROUBLE_RETRY_SECONDS = 10
JSON = "application/json"

log = logging.getLogger(__name__)


def register(app: Flask, settings: Settings) -> None:
    """Add the hooks' routes to an application."""
    api = ApiServer(settings.kubeconfig)
    observer, events, tokens = Observer(api), EventPoster(api), TokenFile(settings.token_file)

    @app.post("/hooks/<controller>/<hook>")
    def call(controller: str, hook: str) -> Response:
        if not tokens.accepts(request.headers.get("Authorization")):
            return _response(HookResponse(401, b'{"error":{"message":"a valid bearer token is needed"}}'))
        if (controller, hook) not in HOOKS:
            return _response(HookResponse(404, b'{"error":{"message":"there is no such hook"}}'))
        now = datetime.now(UTC)
        try:
            answered = answer(controller, hook, request.get_data(), observer.read, now)
        except HTTPException:
            raise
        except ValueError:
            return _response(HookResponse(400, b'{"error":{"message":"the body is not JSON"}}'))
        except Exception:
            log.exception("%s of %s failed", hook, controller)
            return _response(HookResponse(429, b'{"error":{"message":"own trouble"}}', OWN_TROUBLE_RETRY_SECONDS))
        if answered.parent is not None and answered.events:
            events.post(answered.parent, answered.events, now)
        return _response(answered)


def _response(answered: HookResponse) -> Response:
    response = Response(answered.body, status=answered.status, content_type=JSON)
    if answered.retry_after is not None:
        response.headers["Retry-After"] = str(answered.retry_after)
    return response
