"""The Flask application of each role. Knows routes, limits and errors; what is answered is said elsewhere."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import msgspec
from flask import Flask, Request, request
from flask.sessions import NullSession, SessionInterface, SessionMixin
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from webhook import admission
from webhook.body import BUDGET, ROOM_RETRY_SECONDS, Budget, NoRoom, TooLarge, drain
from webhook.limits import MOST_BYTES, UNDER_WAY_BYTES
from webhook.response import JsonResponse
from webhook.settings import ADMISSION, ROLES, Settings, read_settings

_REVIEWS = ("/mutate", "/validate")

log = logging.getLogger(__name__)


class _Application(Flask):
    """Flask without what our routes have no use for: hosts, sessions, coroutines, at 0.005 to 0.01 ms a request each.

    Not taken: a callable of our own before it. Its routes, limits and errors would be written twice.
    """

    def __init__(self) -> None:
        super().__init__("workloadrun", static_folder=None)
        self.session_interface = _NoSession()
        self.url_map.merge_slashes = False  # no request is led to another path: it is ours, or nobody's

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Look up a route by path and method, whatever the host is called; Flask reads the Host header twice for it."""
        if request is None:
            return None
        return MapAdapter(self.url_map, "", "/", "", "https", request.path, request.method)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function as it is: none of ours is a coroutine, and Flask looks twice a request."""
        return func


class _NoSession(SessionInterface):
    """One session for all requests, which cannot be written."""

    _session = NullSession()

    def open_session(self, app: Flask, request: Request) -> SessionMixin:  # noqa: ARG002  the signature is Flask's
        """Return it; Flask makes a new one a request."""
        return self._session


def create_app(role: str, settings: Settings) -> Flask:
    """Make the application of a role: admission or hooks. Raises ValueError for any other."""
    if role not in ROLES:
        raise ValueError(f"no such role: {role!r}")
    app = _Application()
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES[role]
    app.config[BUDGET] = Budget(UNDER_WAY_BYTES[role])
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # a method like any other that is not ours
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _failure)
    if role == ADMISSION:
        admission.register(app)
    else:
        from webhook import hooks  # its clients of the cluster are none of admission's business

        hooks.register(app, settings)
    return app


def from_environment() -> Flask:
    """Make the application that the environment asks for, ready to answer fast. Raises SettingsError."""
    settings = read_settings(os.environ)
    app = create_app(settings.role, settings)
    if settings.role == ADMISSION:
        admission.warm_up()
    return app


def _http_error(error: HTTPException) -> JsonResponse:
    beginning = drain(error.read) if isinstance(error, TooLarge | NoRoom) else b""
    if request.path in _REVIEWS:
        answered = admission.http_error(error, beginning)
        response = JsonResponse(answered.body, answered.status)
    else:
        response = _error(error.code or 500, error.description or error.name)
    if isinstance(error, NoRoom):
        response.headers["Retry-After"] = str(ROOM_RETRY_SECONDS)
    return response


def _failure(error: Exception) -> JsonResponse:
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    if request.path in _REVIEWS:
        answered = admission.failure()
        return JsonResponse(answered.body, answered.status)
    return _error(500, "the server failed; its log says why")


def _error(status: int, message: str) -> JsonResponse:
    return JsonResponse(msgspec.json.encode({"error": {"message": message}}), status)
