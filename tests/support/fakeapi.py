"""An API server in memory for the rotator: versions, conflicts, both kinds of merge patch, and refusals on demand."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from certs.api import APPLY, CONFLICT, NOT_FOUND, STRATEGIC_MERGE, ApiError, Object


class FakeApi:
    """Objects by path. ``log`` names every write that was accepted; a write of an old version is refused with 409."""

    def __init__(self, objects: Mapping[str, Object] | None = None) -> None:
        self.objects: dict[str, Object] = {}
        self.log: list[str] = []
        self.posted: list[Object] = []
        self._refused: dict[str, int] = {}
        self._version = 0
        self._lock = threading.Lock()
        for path, obj in (objects or {}).items():
            self.store(path, obj)

    def store(self, path: str, obj: Object) -> None:
        """Put an object there, as somebody else would."""
        with self._lock:
            self._keep(path, copy.deepcopy(dict(obj)))

    def remove(self, path: str) -> None:
        """Take an object away."""
        with self._lock:
            del self.objects[path]

    @contextmanager
    def refusing(self, *paths: str, status: int = 403) -> Iterator[None]:
        """Refuse every request about these paths for a while."""
        self._refused |= dict.fromkeys(paths, status)
        yield
        for path in paths:
            del self._refused[path]

    def get(self, path: str) -> Object:
        with self._lock:
            return copy.deepcopy(self._find(path))

    def put(self, path: str, body: Object) -> Object:
        with self._lock:
            self._check_version(path, body)
            return self._write("PUT", path, copy.deepcopy(body))

    def patch(self, path: str, body: Object, content_type: str) -> Object:
        with self._lock:
            if content_type == APPLY:
                self._check_refused(path)
                return self._write("APPLY", path, copy.deepcopy(body))
            self._check_version(path, body)
            live, change = copy.deepcopy(self._find(path)), copy.deepcopy(body)
            if content_type == STRATEGIC_MERGE and "webhooks" in change:
                _merge_by_name(live["webhooks"], change.pop("webhooks"))
            return self._write("PATCH", path, merged(live, change))

    def post(self, path: str, body: Object) -> Object:
        with self._lock:
            self._check_refused(path)
            self.posted.append(copy.deepcopy(body))
            return body

    def _find(self, path: str) -> Object:
        self._check_refused(path)
        if path not in self.objects:
            raise ApiError(NOT_FOUND, f"{path} not found")
        return self.objects[path]

    def _check_refused(self, path: str) -> None:
        if path in self._refused:
            raise ApiError(self._refused[path], f"{path} is refused")

    def _check_version(self, path: str, body: Object) -> None:
        given = body["metadata"].get("resourceVersion")
        if given not in (None, self._find(path)["metadata"]["resourceVersion"]):
            raise ApiError(CONFLICT, f"{path} has been modified")

    def _write(self, verb: str, path: str, obj: Object) -> Object:
        self.log.append(f"{verb} {path}")
        self._keep(path, obj)
        return copy.deepcopy(obj)

    def _keep(self, path: str, obj: Object) -> None:
        self._version += 1
        obj["metadata"] = {**obj.get("metadata", {}), "resourceVersion": str(self._version)}
        self.objects[path] = obj


def merged(live: Any, change: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    result = dict(live) if isinstance(live, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _merge_by_name(live: list[Any], changes: Iterable[Mapping[str, Any]]) -> None:
    for change in changes:
        for index, webhook in enumerate(live):
            if webhook["name"] == change["name"]:
                live[index] = merged(webhook, dict(change))
