"""The Flask application of each role. Knows routes, limits and errors; what is answered is said elsewhere."""

from __future__ import annotations

import logging
import os

import msgspec
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from webhook import admission
from webhook.settings import ADMISSION, HOOKS, ROLES, Settings, read_settings

MOST_BYTES = {
    ADMISSION: admission.MOST_BYTES,
    HOOKS: 64 << 20,  # a sync of 2,500 Jobs has 15 MB
}
MOST_DRAINED_BYTES = 64 << 20  # of a body that is too large: a client that is still sending would not read the answer
DRAIN_CHUNK_BYTES = 1 << 20

log = logging.getLogger(__name__)


def create_app(role: str, settings: Settings) -> Flask:
    """Make the application of a role: admission or hooks. Raises ValueError for any other."""
    if role not in ROLES:
        raise ValueError(f"no such role: {role!r}")
    app = Flask("workloadrun", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES[role]
    app.before_request(_bound_chunked_body)
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


def _bound_chunked_body() -> None:
    """Refuse a body of unannounced length that reaches the limit: werkzeug would only cut it off there."""
    if request.content_length is None and len(request.get_data()) >= (request.max_content_length or 0):
        raise RequestEntityTooLarge


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, RequestEntityTooLarge):
        _drain()
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


def _drain() -> None:
    """Read the rest of a body that is refused, up to a limit, so that its sender gets to see why."""
    announced = request.content_length
    stream, left = request.environ["wsgi.input"], MOST_DRAINED_BYTES if announced is None else announced
    left = min(left, MOST_DRAINED_BYTES)
    while left > 0:
        chunk = stream.read(min(left, DRAIN_CHUNK_BYTES))
        if not chunk:
            return
        left -= len(chunk)
