"""What the API server answers instead of an object, worded as it words it. Raised by the store, never by hooks."""

from __future__ import annotations


class ApiError(Exception):
    """A refused request: HTTP status ``code``, machine word ``reason``, text for people."""

    code = 500
    reason = "InternalError"


class NotFound(ApiError):
    """No such object, or no such kind."""

    code = 404
    reason = "NotFound"


class AlreadyExists(ApiError):
    """Another object has this name."""

    code = 409
    reason = "AlreadyExists"


class Conflict(ApiError):
    """The object changed since it was read, or another one has its name now."""

    code = 409
    reason = "Conflict"


class Invalid(ApiError):
    """The object breaks a rule of its schema."""

    code = 422
    reason = "Invalid"


class Forbidden(ApiError):
    """An admission webhook refused."""

    code = 403
    reason = "Forbidden"


class Unavailable(ApiError):
    """The API server could not answer; nothing is known about what it did."""

    code = 503
    reason = "ServiceUnavailable"
