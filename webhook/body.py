"""The body of a request: bounded alone and with all others, read in one piece where its length is announced.

Trusts no length before there is room for it. What is refused is drained, so that its sender gets to see why.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO

from flask import current_app, request
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge, RequestTimeout, TooManyRequests

from webhook.limits import SMALL_BYTES
from webhook.tls import hurry

BUDGET = "BODY_BUDGET"  # the application's setting: how many bytes of bodies may be under way
BEGINNING_BYTES = 64 << 10  # kept of a body that is refused: its uid stands there
FIRST_BYTES = 1 << 10  # read at a time of the beginning: what has come of a larger piece is lost if its sender stops
MOST_DRAINED_BYTES = 64 << 20  # of a body that is refused: a client that is still sending would not read the answer
ROOM_RETRY_SECONDS = 1


class Budget:
    """The bytes of large bodies that may be under way at a time, in all threads together."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._changed = threading.Condition()

    def take(self, size: int, seconds: float = 0) -> bool:
        """Take a number of bytes, if there are as many left or are within so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: size <= self._left, seconds):
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        """Let others have what was taken."""
        with self._changed:
            self._left += size
            self._changed.notify_all()


class TooLarge(RequestEntityTooLarge):
    """A body that is larger than any may be, and what was read of it."""

    def __init__(self, read: bytes = b"") -> None:
        super().__init__()
        self.read = read


class NoRoom(TooManyRequests):
    """A body that there is no room for beside the others, and what was read of it."""

    def __init__(self, read: bytes = b"") -> None:
        super().__init__("too many large bodies are under way")
        self.read = read


class _Share:
    """What one request has taken of the budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._taken = budget, 0

    def holds(self, size: int) -> bool:
        """Tell whether there is room for a body of a size, and take it. Asked once a request."""
        if size <= SMALL_BYTES:
            return True
        if not self._budget.take(size):
            return False
        self._taken = size
        return True

    def end(self) -> None:
        """Give back what was taken."""
        if self._taken:
            self._budget.give_back(self._taken)


def media_type() -> str:
    """Return the body's media type in small letters, without parameters; werkzeug reads those too."""
    content_type: str = request.environ.get("CONTENT_TYPE", "")
    return content_type.partition(";")[0].strip().lower()


@contextmanager
def read_body() -> Iterator[bytes]:
    """Give the body, and the room for it until it is done with; werkzeug's own way reads by the kilobyte.

    Raises TooLarge, NoRoom, RequestTimeout for a body that stops, BadRequest for one that is broken off or malformed.
    """
    share = _Share(current_app.config[BUDGET])
    try:
        yield _read(share, current_app.config["MAX_CONTENT_LENGTH"])
    finally:
        share.end()


def _read(share: _Share, most: int) -> bytes:
    announced = request.environ.get("CONTENT_LENGTH", "")
    if not announced:
        return _read_chunks(share, most)
    length = int(announced)  # gunicorn refuses what is no number
    if length > most:
        raise TooLarge
    if not share.holds(length):
        raise NoRoom
    body = _taken_off(length)
    if len(body) < length:
        raise BadRequest("the body ended before its length")
    return body


def _read_chunks(share: _Share, most: int) -> bytes:
    """Read a body of unannounced length; one that turns out not to be small takes the room of the largest."""
    small = min(SMALL_BYTES, most)
    body = _taken_off(small + 1)
    if len(body) <= small:
        return body
    if not share.holds(most):
        raise NoRoom(body[:BEGINNING_BYTES])
    body = _taken_off(most + 1, body)
    if len(body) <= most:
        return body
    beginning = body[:BEGINNING_BYTES]
    del body  # the exception would keep it for as long as its sender is answered
    raise TooLarge(beginning)


def _taken_off(size: int, read: bytes = b"") -> bytes:
    """Read from the connection, in addition to what was, until there is as much as wanted or the body ends.

    In pieces: what gunicorn itself has gathered of a chunked body is garbage in a circle afterwards, and stays long.
    """
    if size <= SMALL_BYTES and not read:
        return _piece(size)
    with BytesIO() as gathered:  # closed at once: an exception would keep it for as long as its sender is answered
        gathered.write(read)
        while (left := size - gathered.tell()) > 0 and (piece := _piece(min(left, SMALL_BYTES))):
            gathered.write(piece)
        return gathered.getvalue()


def _piece(size: int) -> bytes:
    """Read from the connection; what goes wrong there is the sender's doing, and is said in HTTP's own words."""
    try:
        read: bytes = request.environ["wsgi.input"].read(size)
    except (ConnectionError, TimeoutError) as error:
        raise RequestTimeout("the body did not arrive in time") from error
    except (ParseException, OSError) as error:  # gunicorn says with an OSError that a body ended early
        raise BadRequest("the body is malformed, or ended early") from error
    return read


def drain(read: bytes = b"") -> bytes:
    """Read the rest of a body that is refused, so that its sender gets to see why, and return how it begins.

    Ends at a limit, or when the sender stops: it may be waiting for the answer.
    """
    hurry(request.environ.get("gunicorn.socket"))
    stream, left, beginning = request.environ["wsgi.input"], MOST_DRAINED_BYTES, read[:BEGINNING_BYTES]
    with suppress(OSError, ParseException):
        while left > 0 and (piece := stream.read(FIRST_BYTES if len(beginning) < BEGINNING_BYTES else BEGINNING_BYTES)):
            left -= len(piece)
            beginning += piece[: BEGINNING_BYTES - len(beginning)]
    return beginning
