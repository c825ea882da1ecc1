"""Who may call the hooks: holders of one of a file's tokens; the file may change at any time. Closed when in doubt."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
from pathlib import Path

SCHEME = "bearer"

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int]


class TokenFile:
    """The tokens of a file, one a line, each valid; read again when the file has changed.

    Two lines are what a rotation needs: the new token is accepted before anybody uses it, the old until nobody does.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._digests: tuple[bytes, ...] = ()

    def accepts(self, authorization: str | None) -> bool:
        """Tell whether a request's Authorization header carries a valid token, in time that tells nothing of it."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip().encode("utf-8", "surrogateescape"))
        matching = [hmac.compare_digest(given, digest) for digest in self._current()]  # all of them, always
        return scheme.lower() == SCHEME and any(matching)

    def _current(self) -> tuple[bytes, ...]:
        with self._lock:
            try:
                self._refresh()
            except (OSError, ValueError) as error:
                log.warning("the token file cannot be read, so every call is refused: %s", error)
                self._stamp, self._digests = None, ()
            return self._digests

    def _refresh(self) -> None:
        if self._path is None:
            return
        status = self._path.stat()
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if stamp != self._stamp:
            lines = self._path.read_text("utf-8").splitlines()
            self._digests = tuple(_digest(line.strip().encode()) for line in lines if line.strip())
            self._stamp = stamp


def _digest(token: bytes) -> bytes:
    """Hash a token, so that all comparisons are of the same length."""
    return hashlib.sha256(token).digest()
