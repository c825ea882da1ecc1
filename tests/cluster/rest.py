"""The wire of the Kubernetes API: paths, discovery and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import msgspec
import urllib3

from cli.simulator import errors
from cli.simulator.entry import Object
from cli.simulator.errors import ApiError
from cli.simulator.kinds import KINDS, Kind

_ERRORS: dict[str, type[ApiError]] = {
    error.reason: error
    for error in (errors.NotFound, errors.AlreadyExists, errors.Conflict, errors.Invalid, errors.Forbidden)
}
_decode = msgspec.json.decode
_known = {(kind.api_version, kind.kind): kind for kind in KINDS}


@contextmanager
def as_unavailable() -> Iterator[None]:
    """Turn what went wrong on the way into `errors.Unavailable`."""
    try:
        yield
    except urllib3.exceptions.HTTPError as error:
        raise errors.Unavailable(str(error)) from error


def refusal(status: int, data: bytes) -> ApiError:
    """Make the error of an answer: by its reason, else by its status."""
    try:
        answer: dict[str, Any] = _decode(data)
    except msgspec.DecodeError:
        answer = {"message": data.decode(errors="replace")}
    error = _ERRORS.get(answer.get("reason", ""))
    if error is None:
        error = errors.Unavailable if status in (429, 503, 504) else ApiError
    return error(answer.get("message", ""))


def kind_from(api_version: str, item: Mapping[str, Any]) -> Kind:
    """Read one resource of a discovery answer; kinds that the simulator knows are its own."""
    known = _known.get((api_version, item["kind"]))
    return known or Kind(api_version, item["kind"], item["name"], namespaced=item["namespaced"])


def typed(kind: Kind, item: Object) -> Object:
    """Lists of built-in kinds leave out what they are lists of."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **item}


def group_path(api_version: str) -> str:
    """Return the path of a group and version: ``/api/v1``, ``/apis/batch/v1``."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def path_of(kind: Kind, namespace: str, name: str) -> str:
    """Return the path of a kind, of its objects in a namespace, or of one object."""
    parts = [group_path(kind.api_version)]
    if kind.namespaced and namespace:
        parts += ["namespaces", quote(namespace)]
    parts.append(kind.resource)
    if name:
        parts.append(quote(name))
    return "/".join(parts)
