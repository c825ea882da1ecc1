"""The Flask application of each role. Knows routes, limits and errors; what is answered is said elsewhere."""

from __future__ import annotations

import logging
import os

import msgspec
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from webhook import admission
from webhook.body import bound_chunked_body, drain
from webhook.settings import ADMISSION, HOOKS, ROLES, Settings, read_settings

MOST_BYTES = {
    ADMISSION: 8 << 20,  # an UPDATE carries two objects, and the API server takes none larger than 3 MiB
    HOOKS: 64 << 20,  # a sync of 2,500 Jobs has 15 MB
}

log = logging.getLogger(__name__)


def create_app(role: str, settings: Settings) -> Flask:
    """Make the application of a role: admission or hooks. Raises ValueError for any other."""
    if role not in ROLES:
        raise ValueError(f"no such role: {role!r}")
    app = Flask("workloadrun", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES[role]
    app.before_request(bound_chunked_body)
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


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, RequestEntityTooLarge):
        drain()
    if request.path in ("/mutate", "/validate"):
        answered = admission.http_error(error)
        return Response(answered.body, status=answered.status, content_type=admission.JSON)
    return _error(error.code or 500, error.description or error.name)


def _failure(error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    return _error(500, "the server failed; its log says why")


def _error(status: int, message: str) -> Response:
    body = msgspec.json.encode({"error": {"message": message}})
    return Response(body, status=status, content_type=admission.JSON)
