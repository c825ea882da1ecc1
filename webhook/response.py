"""An answer in JSON, sent as it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment
    from werkzeug.datastructures import Headers

JSON = "application/json"


class JsonResponse(Response):
    """A status and a body. It leads nowhere and always has a body, so its headers are complete when it is made."""

    def __init__(self, body: bytes, status: int) -> None:
        super().__init__(body, status, content_type=JSON)

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:  # noqa: ARG002
        """Return the headers; werkzeug copies them and looks for a Location, at 0.01 ms an answer."""
        return self.headers
