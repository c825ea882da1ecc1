"""What the API server refused, in words that say what to do: which right, part or object is missing. Asks nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli.errors import CliError
from cli.parts import part_of, tell_missing
from sync_hooks.api.model import GROUP
from webhook.apiserver import ApiError, Path


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: verb, and what it is about. An empty namespace means all of them, or none."""

    verb: str
    api_version: str
    resource: str
    namespace: str
    name: str = ""

    @property
    def path(self) -> Path:
        """The path of the API."""
        return Path(self.api_version, self.resource, self.namespace, self.name)

    @property
    def group_resource(self) -> str:
        """The resource as roles name it: ``workloadruns.cre.nvidia.com``."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.resource}.{group}" if group else self.resource


class NotFound(CliError):
    """There is no object of that name."""


class Unreachable(CliError):
    """The cluster did not answer, or answered that it cannot now."""


class NotServed(CliError):
    """The API server does not know the kind."""


class AlreadyExists(CliError):
    """Another object has the name."""


class Refused(CliError):
    """Admission or the schema refused an object; ``causes`` are its fields and messages, empty where none are named."""

    def __init__(self, message: str, causes: tuple[tuple[str, str, str], ...]) -> None:
        """Keep field, type and message of every cause."""
        super().__init__(message)
        self.causes = causes


def refusal(asked: Asked, error: ApiError) -> CliError:
    """Put an error of the API server into words for the person at the terminal."""
    reason = str(error.answer.get("reason", ""))
    message = str(error.answer.get("message", "")) or str(error)
    if error.status == 0:
        return Unreachable(f"no answer from the cluster: {_why(error)}")
    if error.status == 401:
        return CliError("the cluster does not accept the credentials of the kubeconfig: log in again")
    if error.status == 403 and 'User "' in message:
        return CliError(_right(asked, message))
    if error.status == 404:
        return _not_found(asked, error.answer.get("details") or {})
    if reason == "AlreadyExists":
        return AlreadyExists(f"{asked.group_resource} {asked.name!r} exists already{_where(asked)}")
    if error.status in (400, 403, 422):  # of what is only read nothing is refused as an object
        return Refused(_said(message), _causes(error.answer)) if asked.verb == "create" else CliError(_said(message))
    if "failed calling webhook" in message:
        return Unreachable(f"admission does not answer: {message}")
    return Unreachable(f"the cluster cannot answer now: {message}")


def _right(asked: Asked, message: str) -> str:
    """Name the missing right and the user that the server took us for."""
    user = message.partition('User "')[2].partition('"')[0]
    text = f"no permission: user {user} cannot {asked.verb} {asked.group_resource}{_where(asked)}"
    if asked.api_version.partition("/")[0] != GROUP:
        return text
    role = "view" if asked.verb in ("get", "list") else "edit"
    return f"{text}; the cluster role {role} can, where the chart is installed with its user roles"


def _not_found(asked: Asked, details: Mapping[str, Any]) -> CliError:
    """Tell an object that is not there from a kind that the server does not know."""
    if details.get("name"):
        resource = f"{details.get('kind', '')}.{details.get('group', '')}".strip(".")
        return NotFound(f"{resource} {str(details['name'])!r} not found{_where(asked)}")
    part = part_of(asked.api_version.partition("/")[0])
    if part is not None:
        return NotServed(tell_missing([part]))
    return NotServed(f"the cluster does not serve {asked.group_resource or 'any API'}")


def _where(asked: Asked) -> str:
    return f" in namespace {asked.namespace}" if asked.namespace else ""


def _why(error: ApiError) -> str:
    """Return where and why a connection failed, without the client's own words around it."""
    text = " ".join(str(error.__cause__ or error).split())
    place = _PLACE.search(text)
    reason = next((match[1] for pattern in _REASONS if (match := pattern.search(text))), text)
    return f"{place[1]}:{place[2]}: {reason}" if place else reason


_PLACE = re.compile(r"host='([^']+)', port=(\d+)")
_REASONS = (re.compile(r"\[Errno -?\d+\] ([^']+?)'?\)*$"), re.compile(r"'([^']+)'\)+$"))
"""The words of the system, or those of the last error in a chain."""


def _said(message: str) -> str:
    """Return what admission said, without the API server's introduction."""
    return message.partition("denied the request: ")[2] or message


def _causes(answer: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    found = (answer.get("details") or {}).get("causes") or ()
    return tuple((str(one.get("field", "")), str(one.get("reason", "")), str(one.get("message", ""))) for one in found)
